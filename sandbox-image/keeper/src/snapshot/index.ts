/**
 * Room: snapshots of the sandbox's volumes. Outside code imports only this file; the room itself
 * imports Node, `diff` and `tar-stream`, and nothing else of the keeper.
 */
export type {
  Adoption,
  MtimeRecord,
  RestoreOptions,
  RestoreReport,
  SetMeta,
  SnapshotEngine,
  SnapshotRoot,
  TakeOptions,
  TreeChange,
  TreeDiff,
} from './engine.ts';
export { CURRENT } from './engine.ts';
export type { CollectIntent, CollectReason, CollectReport, Retention } from './collector.ts';
export { openCasEngine } from './casEngine.ts';
export { openOverlayEngine, type OverlayOptions } from './overlay/overlayEngine.ts';
export type { LayeredRoot, Mounter } from './overlay/mounter.ts';
export type { CasOptions } from './casEngine.ts';
export { SnapshotError, type SnapshotErrorCode } from './errors.ts';
export { hexOf, manifestText, type Manifest, type ManifestEntry, type SkippedPath } from './manifest.ts';
export { bytesOf, displayPath, sysPath, type BytePath } from './pathBytes.ts';
export { weightOf, type TreeLimits } from './scan/treeLimits.ts';
export type { DamagedObject, ScrubOptions, ScrubReport } from './collector.ts';
export { lastingProgram } from './program.ts';
export { setMetaByRunner, xattrsByRunner, type XattrAccess } from './xattrs.ts';
export { treeStatsByRunner, type TreeStats } from './treeStats.ts';
export type { SnapshotRecord } from './records/snapshotFiles.ts';
