/**
 * Measures a program before and after an edit, as features of the verifier. May import `base`, `checks`, `egress`,
 * `plan`, `rails`, `store`; of packages protocol, kube and the keeper's client.
 */
export { measureSources, type MeasurePorts, pythonSurfaces, type RunProgram } from './measure.ts';
export type { SourceChange, SourceFeatures } from './javascript/types.ts';
