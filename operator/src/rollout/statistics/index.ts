// Statistics of rollouts: when a canary is known to be no worse, with bounds on both errors. Pure; imports the protocol's statistics only.
export { defaultLooks, designOf, type Design, type DesignGoal } from './design.ts';
export {
  binnedIndex,
  kolmogorovSmirnov,
  kappa,
  type Table,
  normalCdf,
  normalQuantile,
  differenceLimit,
  effectiveSamples,
  z95,
  countOf,
  lastBound,
  valueAt,
  quantileLimits,
  type Cumulative,
  type Tally,
} from './distributions.ts';
export { judge, openBetween, openBoundary, openLook, type Judged } from './judge.ts';
