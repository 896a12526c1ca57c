/**
 * What edits make of files, and how a program measures before and after them, as features of the verifier. May import `base`, `checks`, `egress`,
 * `plan`, `rails`, `store`; of packages protocol, kube and the keeper's client.
 */
export { measureSources, pythonSurfaces, type RunProgram } from './measure.ts';
export { createSourceReader, EditMismatch, rewritesOf, type Rewrite, sha256, type SourceReader, type TextFeatures } from './sources.ts';
export type { SourceFeatures } from './javascript/types.ts';
