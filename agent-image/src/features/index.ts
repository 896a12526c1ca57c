export { measureSources, type MeasurePorts } from './measure.ts';
export { pythonSurfaces, type RunProgram } from './python.ts';
export type { SourceChange, SourceFeatures } from './types.ts';
