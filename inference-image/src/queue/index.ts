/**
 * Queue between HTTP and the engine: batches requests, and refuses some when full. May import `base`, `gpu`, `models`
 * and protocol.
 */
export { BatchQueue } from './batchQueue.ts';
