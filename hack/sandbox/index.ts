/** One sandbox pod without an operator, for the demo, the tests and the benchmarks. Imports operator, keeper's client, protocol. */
export { kill, killProcessesOf, processesOf, runningContainers } from './containers.ts';
export { Kubectl, type ClusterAccess } from './kubectl.ts';
export { expertsToken } from './expertsToken.ts';
export { deleteNamespace, prepareNamespace, workerServiceAccount } from './namespace.ts';
export { portForward, type PortForward } from './portForward.ts';
export { openSandbox, type Sandbox, type SandboxOptions } from './sandbox.ts';
export { workerPod } from './workerPod.ts';
