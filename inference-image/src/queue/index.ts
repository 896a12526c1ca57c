/** Between the HTTP face and the engine: who waits, in which batch, and who is turned away. */
export { BatchQueue, type QueueOptions } from './batchQueue.ts';
