/**
 * AgentTask: binds tasks to workers and sandboxes. `observe` reads caches into a `snapshot`; `acceptance`, `placing`, `verdict`,
 * `approvals`, `spending`, `storage` and `conditions` are the pure parts of `decide`; `execute`, `volumes` and `controller` write.
 * May import runtime, pools, revisions and the queue below; no other controller. Exported: what its sandbox looks like, which
 * imports protocol only.
 */
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
