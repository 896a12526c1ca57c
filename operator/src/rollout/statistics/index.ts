// Statistics of rollouts: when a canary is known to be no worse, with bounds on both errors. Pure; imports the protocol's statistics only.
export { defaultLooks, designOf, type Design, type DesignGoal, type Look } from './design.ts';
export {
  binnedIndex,
  kolmogorovSmirnov,
  kappa,
  type Kappa,
  type Table,
  normalCdf,
  normalQuantile,
  differenceLimit,
  effectiveSamples,
  z95,
  type Tally,
} from './distributions.ts';
export { judge, type Judged, type Judgement } from './judge.ts';
