// Statistics of rollouts: when a canary is known to be no worse, with bounds on both errors. Pure; imports nothing.
export { defaultLooks, designOf, type Design, type DesignGoal, type Look } from './design.ts';
export { binnedIndex, kolmogorovSmirnov, quantile } from './distributions.ts';
export { kappa, type Kappa, type Table } from './kappa.ts';
export { judge, type Judged, type Judgement } from './judge.ts';
export { normalCdf, normalQuantile } from './normal.ts';
export { differenceLimit, effectiveSamples, wilson, type Tally } from './proportions.ts';
