// Statistics of rollouts: when a canary is known to be no worse, with bounds on both errors. Pure; imports nothing.
export { defaultLooks, designOf, type Design, type DesignGoal, type Look } from './design.ts';
export {
  binnedIndex,
  kolmogorovSmirnov,
  quantile,
  kappa,
  type Kappa,
  type Table,
  normalCdf,
  normalQuantile,
  differenceLimit,
  effectiveSamples,
  wilson,
  type Tally,
} from './distributions.ts';
export { judge, type Judged, type Judgement } from './judge.ts';
