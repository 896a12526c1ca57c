/**
 * Snapshots of the sandbox's volumes. Outside code imports only this file; the folder itself
 * imports Node, `diff`, `tar-stream` and types of `protocol`, and nothing else of the keeper.
 */
export { clearByRunner, type SetMeta, setMetaByRunner, treeStatsByRunner, xattrsByRunner } from './base/xattrs.ts';
export type { Adoption } from './cas/adoption.ts';
export type { CollectReport, Retention } from './cas/collector.ts';
export { CasEngine, CURRENT } from './cas/casEngine.ts';
export { openOverlayEngine } from './overlay/overlayEngine.ts';
export type { Mounter } from './overlay/layers.ts';
export { SnapshotError } from './base/errors.ts';
export { type Manifest, manifestText } from './base/manifest.ts';
export { type BytePath, bytesOf, displayPath, sysPath } from './base/pathBytes.ts';
export { weightOf } from './scan/treeLimits.ts';
export { Program } from './base/program.ts';
