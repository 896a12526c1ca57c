/**
 * The plan of an attempt, as data: a persistent tree of nodes, and its digest for
 * `status.run.plan`. Pure; may import `protocol`.
 */
export { planDigest, addNode, changeNode, endPlan, findNode, initialPlan, type NodeChange, type PlanNode } from './tree.ts';
