/**
 * Durable copies of a task's keeper: the mirror of its event log, its snapshots, and the adoption from them. May import
 * `store`, `base`, `protocol`, `kube` and the keeper's client; not `attempt`.
 */
export { Durability, checkpointMs, mirrorMs, type DurabilityOptions } from './durability.ts';
export { DurableFailure, type DurableFailureCode } from './failure.ts';
export { parseKeys, planPacks, readSealer } from './manifest.ts';
export { mirroredLog, type MirroredLogOptions } from './mirroredLog.ts';
export { createSealer, keyBytes, type Sealer } from './seal.ts';
export { PackShelf, Shelves } from './shelf.ts';
export { graceMs, sweep, type SweepOptions, type Swept, Sweeper } from './sweep.ts';
export type { Written } from './writer.ts';
