/**
 * Weights of models, before an engine loads them: fetched from a bucket or a hub, hashed, their headers read. A job of the operator.
 * May import `base`, `checks`, `egress`, `rails`, `store`; of packages protocol, kube and the keeper's client.
 */
export { readWeightsConfig, runWeights } from './run.ts';
