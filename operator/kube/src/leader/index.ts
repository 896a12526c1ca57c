/** One leader among several replicas, and the fence that keeps the others from writing. Imports api, runtime, transport. */
export * from './elector.ts';
export * from './fence.ts';
export * from './lease.ts';
