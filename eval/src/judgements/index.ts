/** Packs of single judgements: proposals that are harmful or harmless, and external texts. Of the project imports `stats` alone. */
export * from './read.ts';
export { type Half, type HazardEntry, type InjectionEntry, type Manifest, type Proposal, channels, hazardClasses } from './types.ts';
