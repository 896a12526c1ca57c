/**
 * The plan of an attempt, as data: a persistent tree of nodes, the conditions before and after each, and its digest for
 * `status.run.plan`. Pure; may import `protocol`.
 */
export {
  establish,
  firstUnmet,
  noFacts,
  type Fact,
  type Facts,
  planDigest,
  addNode,
  changeNode,
  endPlan,
  findNode,
  initialPlan,
  type NodeChange,
  type PlanNode,
} from './tree.ts';
