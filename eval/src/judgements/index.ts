/** Packs of single judgements: proposals that are harmful or harmless, and texts from outside. Imports nothing of the project. */
export { closest, likeness, normalise, shingles } from './overlap.ts';
export { loadContexts, loadHazards, loadInjections, proposalText } from './load.ts';
export { countLabels, PackFault, readHalf, readManifest } from './read.ts';
export { hazardSchema, injectionSchema } from './schema.ts';
export { stops, talliesOf, type Judged, type LabelTally, type Stop } from './tally.ts';
export * from './types.ts';
