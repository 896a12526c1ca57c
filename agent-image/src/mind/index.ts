/**
 * The learned parts of an attempt behind one port (`attempt/mind.ts`): planner, verifier, policy, embedder, draft.
 * Imports attempt's ports, experts and protocol. What each answer changes is in docs/reference/gates.md (gate 2) and
 * `schedule.ts` (how much is computed).
 */
export { computeOf, FleetMind } from './mind.ts';
export type { FleetOptions } from './fleet.ts';
export { noMind, uniform, type NoMindOptions } from './none.ts';
export { schedule } from './schedule.ts';
