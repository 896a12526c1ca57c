/** Sentences to vectors, by a small transformer that runs on the CPU. Part of `engines`: may import `base`, `gpu`, `models` and protocol. */
export { dimensions, SentenceEncoder, bundledFiles, installedFiles } from './encoder.ts';
