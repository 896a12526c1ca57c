/** Keys to work on, with priorities, waits and metrics. Imports runtime. */
export * from './limiter.ts';
export { lowPriority, WorkQueue, type AddOptions, type QueueItem, type QueueOptions } from './queue.ts';
