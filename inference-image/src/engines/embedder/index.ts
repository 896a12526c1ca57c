/** Sentences to vectors, by a small transformer that runs on the CPU. */
export { dimensions, SentenceEncoder } from './encoder.ts';
export { bundledFiles, installedFiles, type EmbedderFiles } from './files.ts';
