/** Packs of tasks: their format, loading, and conversion of a task to an AgentTask. Imports the protocol only. */
export * from './agentTask.ts';
export * from './build.ts';
export * from './load.ts';
export * from './packages.ts';
export * from './types.ts';
