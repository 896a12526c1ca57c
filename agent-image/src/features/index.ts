/**
 * Features of the verifier: files as edits make them, and measures of a program before and after them. May import `base`, `checks`,
 * `egress`, `rails`, `store`; of packages protocol, kube and the keeper's client.
 */
export { measureSources, pythonSurfaces, type RunProgram } from './measure.ts';
export { beforeRun, createSourceReader, EditMismatch, rewritesOf, type Rewrite, sha256, sourceOf, type SourceReader } from './sources.ts';
export type { SourceFeatures } from './javascript/types.ts';
