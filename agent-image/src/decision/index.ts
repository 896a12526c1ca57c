/**
 * The learned parts of an attempt behind one port (`attempt/ports.ts`): planner, verifier, policy, embedder,
 * draft. Imports attempt's ports, experts and protocol. The effect of each answer is in docs/reference/gates.md (gate
 * 2) and `schedule.ts` (amount of computation).
 */
export { computeOf, PoolDecisionModels } from './decisionModels.ts';
export type { FleetOptions } from './fleet.ts';
