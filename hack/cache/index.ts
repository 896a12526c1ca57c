/** The content-hash cache outside git: built once, reused by every clone. Imports nothing of the project. */
export { cacheRoot, cached, hashInputs } from './cache.ts';
