/** Between the HTTP face and the engine: who waits, in which batch, and who is turned away. May import `base`, `gpu`, `models` and protocol. */
export { BatchQueue, type QueueOptions } from './batchQueue.ts';
