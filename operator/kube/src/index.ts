/**
 * A controller runtime for Kubernetes on plain JSON: no domain words in here, and nothing of the project is imported.
 * Folders, each importing only those before it: runtime, api · transport · client, watch · cache · queue · controller,
 * apply, conditions, consistency, events, leader · manager. `testing` has an API server for tests.
 */
export { type LabelSelector, labelMatcher } from './api/selector.ts';
export {
  byAge,
  isRecord,
  type Declaration,
  type KubeObject,
  type ObjectKey,
  type ObjectName,
  type OwnerReference,
  keyOf,
  parseKey,
  type Resource,
  defineResource,
  resourceName,
  collectionPath,
  objectPath,
  compareVersions,
} from './api/resource.ts';
export {
  Applier,
  canonical,
  contains,
  contentHash,
  hasFinalizer,
  removeFinalizer,
  controllerOf,
  controllerReference,
  isControlledBy,
} from './apply/applier.ts';
export { type Handler, type InformerOptions, Informer } from './cache/informer.ts';
export type { Indexer, Lister } from './cache/store.ts';
export { callerName, ResourceClient, TokenSource } from './client/client.ts';
export {
  type ConditionEntry,
  conditionsFor,
  cut,
  type Condition,
  type NewCondition,
  findCondition,
  isTrue,
  mergeConditions,
  type WithConditions,
} from './conditions/conditions.ts';
export { Consistency } from './consistency/consistency.ts';
export { Controller, type ReconcileContext, type Outcome, done, requeueAfter } from './controller/controller.ts';
export {
  type Predicate,
  annotationsChanged,
  anyOf,
  generationChanged,
  labelsChanged,
  type Enqueue,
  type Source,
  channel,
  sourceOf,
  toController,
  watches,
} from './controller/source.ts';
export { events, type KubeEvent, type NewEvent, EventRecorder } from './events/recorder.ts';
export { LeaderElector, LeaseFence, type Lease, leases } from './leader/elector.ts';
export { type Authorize, type Endpoints, serveEndpoints } from './manager/endpoints.ts';
export { type LeaderRunnable, type ManagedCache, Manager, type ManagerOptions } from './manager/manager.ts';
export { lowPriority } from './queue/queue.ts';
export {
  Backoff,
  type Random,
  type Clock,
  type Timer,
  microTimestamp,
  sleep,
  slices,
  systemClock,
  timestamp,
  deadline,
  unlessAborted,
} from './runtime/clock.ts';
export { KubeError, isKubeError, asError } from './runtime/errors.ts';
export { type Log, silentLog, withFields } from './runtime/log.ts';
export { counter, histogram } from './runtime/metrics.ts';
export {
  ApiError,
  isApiError,
  isNotFound,
  isInvalid,
  isConflict,
  isAlreadyExists,
  isRefused,
  isWebhookFailure,
  isTooLarge,
  apiErrorOf,
} from './transport/apiError.ts';
export { inClusterConfig, defaultConfig, kubeconfigConfig, plainConfig } from './transport/kubeconfig.ts';
export { inService } from './transport/reachability.ts';
export { createTransport, fencedTransport } from './transport/transport.ts';
export type { ApiRequest, ApiStream, Transport, ClusterConfig } from './transport/types.ts';
export { type WatchEnd, type WatchEvent, linesOf, watch } from './watch/watch.ts';
