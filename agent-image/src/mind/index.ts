/**
 * The learned parts of an attempt behind one port (`attempt/mind.ts`): planner, verifier, policy, embedder, draft.
 * Imports attempt's ports, experts and protocol.
 */
export { computeOf } from './compute.ts';
export { noMind, uniform, type NoMindOptions } from './none.ts';
