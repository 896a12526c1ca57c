/** The life of an operator's process: order of start and stop, probes, metrics. Imports leader, runtime. */
export {
  type Check,
  type CheckResult,
  renderChecks,
  runChecks,
  type Authorize,
  type EndpointOptions,
  type Endpoints,
  serveEndpoints,
} from './endpoints.ts';
export type { Runnable } from './manager.ts';
export { type LeaderRunnable, type ManagedCache, Manager, type ManagerOptions } from './manager.ts';
