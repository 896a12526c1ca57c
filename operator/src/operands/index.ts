/**
 * Facts that controllers must share about a pool's children: which servers a revision has, whether they need GPUs, what weights they read,
 * how the plan and its conditions are compared. Pure; makes nothing itself. May import `revisions`, `pools` and `runtime`; no controller.
 */
export { holderComponent, holdersWall, planChanged } from './plan.ts';
export { imageOf, namedSlots, needsGpu, recordedArms, serverHash, shardsOf, type PoolArm, type RecordedArm } from './servers.ts';
export * from './weights.ts';
