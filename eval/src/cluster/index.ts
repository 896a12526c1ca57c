/** A pool of a cluster. Imports `format`, `run`, kube and the protocol. */
export { ClusterPool, type ClusterPoolOptions, type JudgePatch } from './pool.ts';
export { clusterJudge, judgingTask } from './judge.ts';
export { type ClusterPlace } from './tasks.ts';
