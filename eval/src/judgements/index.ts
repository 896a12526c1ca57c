/** Packs of single judgements: proposals that are harmful or harmless, and external texts. Of the project imports `stats` alone. */
export {
  closest,
  likeness,
  normalise,
  shingles,
  loadContexts,
  loadHazards,
  loadInjections,
  proposalText,
  countLabels,
  PackFault,
  readManifest,
  stops,
  talliesOf,
  type Judged,
  type LabelTally,
  type Stop,
} from './read.ts';
export { type Half, type HazardEntry, type InjectionEntry, type Manifest, type Proposal, channels, hazardClasses } from './types.ts';
