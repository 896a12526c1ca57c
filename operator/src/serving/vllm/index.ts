// Engines of vLLM: how they are started. What they are asked while they run is the inference server's, beside them in the pod.
// Part of `serving`: may import `runtime`, `placement`, `rollout`; of packages protocol and kube.
export { reservedCondition, servedNames, VllmArgumentError, vllmArguments, vllmEnvironment, vllmPort, type VllmDemand } from './command.ts';
export { engineContainer, withEngine, type EnginePod } from './pod.ts';
