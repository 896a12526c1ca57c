/** Whole keepers that others' tests move snapshots between. */
export { startRealKeeper } from './pair.ts';
export { describeTree } from '../../snapshot/testing/harness.ts';
export type { Harness } from '../../testing/index.ts';
