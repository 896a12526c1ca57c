export { measureSources, type MeasurePorts, pythonSurfaces, type RunProgram } from './measure.ts';
export type { SourceChange, SourceFeatures } from './javascript/types.ts';
