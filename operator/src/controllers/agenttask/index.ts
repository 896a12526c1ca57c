/** AgentTask: what its sandbox looks like. Pure functions; imports protocol only. */
export * from './names.ts';
export { sandboxNetworkPolicy, type NetworkPolicyManifest } from './sandboxNetworkPolicy.ts';
export { sandboxPod, type SandboxPodInput } from './sandboxPod.ts';
