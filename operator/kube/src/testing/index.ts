/** For tests: an API server with faults, virtual time, seeded random numbers. May import everything of this package. */
export { conditionFaults, kstatus } from './conditions.ts';
export * from './faults.ts';
export type { KindDefinition, ListType } from './kinds.ts';
export * from './random.ts';
export { FakeApiServer, startFakeServer, type FakeServerOptions } from './server.ts';
export * from './virtualClock.ts';
export type { Change as VersionChange } from './versions.ts';
