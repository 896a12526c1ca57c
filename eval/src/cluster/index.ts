/** A pool of a cluster. Imports `format`, `run`, kube and the protocol. */
export { ClusterPool, type ClusterPoolOptions, type JudgePatch, clusterJudge, judgingTask, type ClusterPlace } from './pool.ts';
