/** Golden sets of rollouts: the Jobs that run them against a revision, and what is kept of their results. */
export { heardByGolden } from './job.ts';
export { GoldenSets, type GoldenQuestion, type GoldenView } from './goldenSets.ts';
