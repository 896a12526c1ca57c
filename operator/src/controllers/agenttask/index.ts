/** AgentTask: what its sandbox looks like. Pure functions; imports protocol only. */
export {
  hiddenDir,
  homeDir,
  jwksConfigMap,
  keeperPort,
  labels,
  linkSecret,
  sandboxFinalizer,
  sandboxUid,
  scratchDir,
  storeDir,
  workspaceDir,
} from './attempts.ts';
export { sandboxNetworkPolicy, type NetworkPolicyManifest, sandboxPod, type SandboxPodInput } from './sandboxPod.ts';
