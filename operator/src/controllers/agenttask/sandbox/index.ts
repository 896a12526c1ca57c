/**
 * The sandbox of a task. `pod` is what it looks like, `template` what the pool and the task ask for, `capabilities` what the nodes can
 * run, `state` how a pod is and whether its namespace is ready. May import pools and runtime, and nothing else of agenttask. Exported
 * for local sandboxes, tests and benchmarks.
 */
export { keeperPort } from '@agentfleet/protocol/keeper';
export { labels } from '@agentfleet/protocol/pool';
export { jwksConfigMap, linkSecret, sandboxNetworkPolicy, sandboxPod, type SandboxPodInput } from './pod.ts';
export { podUid as sandboxUid } from '../../../runtime/pod.ts';
