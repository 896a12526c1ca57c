/**
 * Snapshots of the sandbox's volumes. Outside code imports only this file; the folder itself
 * imports Node, `diff`, `tar-stream` and types of `protocol`, and nothing else of the keeper.
 */
export { type Adoption, type SnapshotEngine } from './records/engine.ts';
export { type SetMeta } from './base/xattrs.ts';
export { CURRENT } from './records/engine.ts';
export { type Retention } from './cas/collector.ts';
export { type CollectReport } from './records/engine.ts';
export { openCasEngine } from './cas/casEngine.ts';
export { openOverlayEngine } from './overlay/overlayEngine.ts';
export type { LayeredRoot, Mounter } from './overlay/mounter.ts';
export { SnapshotError } from './base/errors.ts';
export { manifestText, type Manifest } from './base/manifest.ts';
export { bytesOf, displayPath, sysPath, type BytePath } from './base/pathBytes.ts';
export { weightOf } from './scan/treeLimits.ts';
export { lastingProgram } from './base/program.ts';
export { setMetaByRunner, xattrsByRunner } from './base/xattrs.ts';
export { treeStatsByRunner } from './base/treeStats.ts';
