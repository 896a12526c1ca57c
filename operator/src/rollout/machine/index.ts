// From a new revision to its promotion or back, as a pure step from state and evidence to the next state.
// Part of `rollout`: may import `gates`, `statistics` and protocol.
export { advance, idle, rejectedFailures } from './advance.ts';
export type { Evidence, RolloutRules, RolloutState } from './advance.ts';
