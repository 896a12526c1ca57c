/** The life of an operator's process: order of start and stop, probes, metrics. Imports leader, runtime. */
export type * from './checks.ts';
export * from './endpoints.ts';
export type { Runnable } from './group.ts';
export * from './manager.ts';
