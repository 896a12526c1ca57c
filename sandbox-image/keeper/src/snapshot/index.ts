/**
 * Snapshots of the sandbox's volumes. Outside code imports only this file; the folder itself
 * imports Node, `diff` and `tar-stream`, and nothing else of the keeper.
 */
export {
  type Adoption,
  type RestoreOptions,
  type RestoreReport,
  type SnapshotEngine,
  type TakeOptions,
  type TreeChange,
  type TreeDiff,
} from './records/engine.ts';
export { type MtimeRecord, type SetMeta } from './base/xattrs.ts';
export { type SnapshotRoot } from './base/manifest.ts';
export { CURRENT } from './records/engine.ts';
export { type CollectIntent, type Retention } from './cas/collector.ts';
export { type CollectReason } from './records/engine.ts';
export { type CollectReport } from './records/engine.ts';
export { openCasEngine } from './cas/casEngine.ts';
export { openOverlayEngine, type OverlayOptions } from './overlay/overlayEngine.ts';
export type { LayeredRoot, Mounter } from './overlay/mounter.ts';
export type { CasOptions } from './cas/casEngine.ts';
export { SnapshotError, type SnapshotErrorCode } from './base/errors.ts';
export { hexOf, manifestText, type Manifest, type ManifestEntry, type SkippedPath } from './base/manifest.ts';
export { bytesOf, displayPath, sysPath, type BytePath } from './base/pathBytes.ts';
export { weightOf, type TreeLimits } from './scan/treeLimits.ts';
export { type DamagedObject } from './records/engine.ts';
export { type ScrubOptions, type ScrubReport } from './records/engine.ts';
export { lastingProgram } from './base/program.ts';
export { setMetaByRunner, xattrsByRunner, type XattrAccess } from './base/xattrs.ts';
export { treeStatsByRunner, type TreeStats } from './base/treeStats.ts';
export type { SnapshotRecord } from './records/snapshotFiles.ts';
