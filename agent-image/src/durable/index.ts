/**
 * Durable copies of a task's keeper: the mirror of its event log, its snapshots, and the adoption from them. May import
 * `store`, `base`, `protocol`, `kube` and the keeper's client; not `attempt`.
 */
export { Durability, type DurabilityOptions } from './durability.ts';
export { DurableFailure } from './failure.ts';
export { planPacks, readSealer } from './manifest.ts';
export { mirroredLog } from './mirroredLog.ts';
export type { ActiveTasks } from './retention.ts';
export { createSealer, type Sealer } from './seal.ts';
export { PackShelf, Shelves } from './shelf.ts';
export { Sweeper } from './sweep.ts';
export type { Written } from './writer.ts';
