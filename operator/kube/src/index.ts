/**
 * A controller runtime for Kubernetes on plain JSON: no domain words in here, and nothing of the project is imported.
 * Rooms, each importing only those before it: runtime, api · transport · client, watch · cache · queue · controller,
 * apply, conditions, consistency, events, leader · manager. `testing` has an API server for tests.
 */
export * from './api/index.ts';
export * from './apply/index.ts';
export * from './cache/index.ts';
export * from './client/index.ts';
export * from './conditions/index.ts';
export * from './consistency/index.ts';
export * from './controller/index.ts';
export * from './events/index.ts';
export * from './leader/index.ts';
export * from './manager/index.ts';
export * from './queue/index.ts';
export * from './runtime/index.ts';
export * from './transport/index.ts';
export * from './watch/index.ts';
