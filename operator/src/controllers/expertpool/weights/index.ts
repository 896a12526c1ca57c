/** Weights of a pool's experts: what is asked for, the jobs that fetch and read them, what they found. */
export * from './job.ts';
export * from './progress.ts';
export * from './state.ts';
