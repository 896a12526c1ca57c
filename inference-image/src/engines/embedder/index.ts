/** Sentences to vectors, by a small transformer that runs on the CPU. */
export { dimensions, SentenceEncoder, bundledFiles, installedFiles, type EmbedderFiles } from './encoder.ts';
