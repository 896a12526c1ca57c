import {
  Informer,
  leases,
  type Clock,
  type Indexer,
  type KubeObject,
  type Lease,
  type Log,
  type Random,
  type Resource,
  type Transport,
} from '@agentfleet/kube';
import type { AgentTask, AgentTaskOrder } from '@agentfleet/protocol/api';
import { labels, workerLease } from '@agentfleet/protocol/pool';
import { slotLabel } from '../placement/index.ts';
import { type Caches, NodeAbilities, OptionalCache } from './context.ts';
import { type Namespace, type Pod, resources } from './resources.ts';
import {
  TaskCensus,
  unfinishedTasks,
  dependenciesOf,
  dependencyIndex,
  revisionIndex,
  revisionsOf,
  wakeIndex,
  wakeReasons,
  workerIndex,
  workerOf,
} from './taskCensus.ts';
import { slimNamespace, slimNetworkPolicy, slimNode, slimObject, slimPod, slimTask } from './transforms.ts';

/** Options of every cache. The transport need not be fenced: caches only read. */
export interface CacheOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Whether Kueue admits tasks. */
  readonly kueue?: boolean;
  /** Namespaces that are followed; default: the whole cluster. What has no namespace is followed anyway. */
  readonly namespaces?: readonly string[] | undefined;
}

/** A cache of those objects of a kind that the operator made: they carry a component. */
export function cacheOfOurs<T extends KubeObject>(
  options: CacheOptions,
  resource: Resource<T>,
  indexers: Readonly<Record<string, Indexer<T>>> = {},
): Informer<T> {
  return new Informer({ ...options, resource, labelSelector: labels.component, indexers, transform: slimObject });
}

/** The object of its namespace that a label names, as a key; none without the label. */
export function namedBy(object: KubeObject, label: string): readonly string[] {
  const value = object.metadata.labels?.[label];
  return value === undefined ? [] : [`${object.metadata.namespace ?? ''}/${value}`];
}

/** The task whose sandbox the object belongs to, `namespace/name`; none for other objects. */
function taskOf(object: KubeObject): readonly string[] {
  return namedBy(object, labels.task);
}

/** Pods of a pool are its workers and experts; a sandbox belongs to its task, which may be in another namespace. */
function poolOfPod(pod: Pod): readonly string[] {
  return pod.metadata.labels?.[labels.component] === 'sandbox' ? [] : namedBy(pod, labels.pool);
}

/** The pool that a sandbox was made ahead for, as an index has it. */
export function warmOf(pod: Pod): readonly string[] {
  const pool = warmPoolOf(pod);
  return pool === undefined ? [] : [pool];
}

/** Index of orders by the rollout that they are about. */
export const rolloutOrderIndex = 'rollout';

/** Kinds that have rollouts. */
export type RolloutTarget = 'ExpertPool' | 'EnergyModel';

/** A key of that index. */
export const rolloutOrderKey = (namespace: string | undefined, kind: RolloutTarget, name: string): string =>
  `${namespace ?? ''}/${kind}/${name}`;

/** Index of pods that sit on a GPU or hold one, all under one key: there are few among many. */
export const gpuIndex = 'gpu';
export const onGpus = 'all';

function gpuOf({ metadata }: Pod): readonly string[] {
  return metadata.annotations?.[slotLabel] === undefined ? [] : [onGpus];
}

/** Tasks that have not ended. */
function cacheOfTasks(options: CacheOptions): Informer<AgentTask> {
  const shared = new Shared();
  const sharing = { of: <T>(value: T): T => shared.of(value) };
  return new Informer<AgentTask>({
    ...options,
    resource: resources.agentTasks,
    fieldSelector: unfinishedTasks,
    indexers: {
      [poolIndex]: (task) => [namedPool(task)],
      [workerIndex]: workerOf,
      [wakeIndex]: wakeReasons,
      [dependencyIndex]: dependenciesOf,
      [revisionIndex]: revisionsOf,
    },
    transform: (task) => slimTask(task, sharing),
  });
}

/** The task that an order is for, as a key; none for one about a rollout. */
export function taskOfOrder({ metadata, spec: { taskRef } }: AgentTaskOrder): readonly string[] {
  return taskRef === undefined ? [] : [`${metadata.namespace ?? ''}/${taskRef.name}`];
}

/** Orders, by the task or the rollout that they are about. */
function cacheOfOrders(options: CacheOptions): Informer<AgentTaskOrder> {
  return new Informer<AgentTaskOrder>({
    ...options,
    resource: resources.agentTaskOrders,
    indexers: {
      task: taskOfOrder,
      [rolloutOrderIndex]: ({ metadata, spec: { rolloutRef } }) =>
        rolloutRef === undefined ? [] : [rolloutOrderKey(metadata.namespace, rolloutRef.kind, rolloutRef.name)],
    },
    transform: slimObject,
  });
}

/** A watch of them that shows none of the renewals of two rounds counts as dead: while there are workers it is never that quiet. */
const silentLeasesMs = 2 * workerLease.renew * 1000;

/**
 * Leases of workers. A connection that died unnoticed must be found before the workers behind it count as lost. Where no
 * worker runs they are listed that often.
 */
function cacheOfLeases(options: CacheOptions): Informer<Lease> {
  const labelSelector = `${labels.component}=worker`;
  return new Informer({ ...options, resource: leases, labelSelector, stallMs: silentLeasesMs, transform: slimObject });
}

/** Creates the caches of the storage of sandboxes and pools; clusters need not know VolumeSnapshots. */
function cachesOfStorage(options: CacheOptions): Pick<Caches, 'persistentVolumeClaims' | 'volumeSnapshots'> {
  const indexers = { task: taskOf };
  return {
    persistentVolumeClaims: cacheOfOurs(options, resources.persistentVolumeClaims, indexers),
    volumeSnapshots: new OptionalCache({
      ...options,
      resource: resources.volumeSnapshots,
      labelSelector: labels.component,
      indexers,
      transform: slimObject,
    }),
  };
}

/** Creates the caches of the objects by which Kueue admits tasks; clusters need not have it. */
function cachesOfKueue({ kueue = false, ...options }: CacheOptions): Pick<Caches, 'workloads' | 'resourceFlavors'> {
  if (!kueue) return {};
  return {
    workloads: new OptionalCache({
      ...options,
      resource: resources.workloads,
      labelSelector: labels.component,
      indexers: { task: taskOf },
      transform: slimObject,
    }),
    resourceFlavors: new OptionalCache({ ...options, resource: resources.resourceFlavors, transform: slimObject }),
  };
}

/** Creates the cache of namespaces. If only some are followed, it reads no other one: the operator may list only these by name then. */
function cacheOfNamespaces({ namespaces: names, ...options }: CacheOptions): Informer<Namespace> {
  return new Informer({ ...options, resource: resources.namespaces, transform: slimNamespace, ...(names !== undefined && { names }) });
}

/** The caches that all controllers share. */
export function createCaches(options: CacheOptions): Caches {
  const tasks = cacheOfTasks(options);
  return {
    tasks,
    census: new TaskCensus({ ...options, tasks }),
    orders: cacheOfOrders(options),
    pools: new Informer({ ...options, resource: resources.expertPools, transform: slimObject }),
    expertScales: new Informer({ ...options, resource: resources.expertScales, transform: slimObject }),
    energyModels: new Informer({ ...options, resource: resources.energyModels, transform: slimObject }),
    poolGrants: new Informer({ ...options, resource: resources.poolGrants, transform: slimObject }),
    rolloutPolicies: new Informer({ ...options, resource: resources.rolloutPolicies, transform: slimObject }),
    pods: new Informer({
      ...options,
      resource: resources.pods,
      labelSelector: labels.component,
      indexers: {
        task: taskOf,
        pool: poolOfPod,
        model: (pod) => namedBy(pod, labels.model),
        [warmIndex]: warmOf,
        [gpuIndex]: gpuOf,
      },
      transform: slimPod,
    }),
    leases: cacheOfLeases(options),
    namespaces: cacheOfNamespaces(options),
    nodes: new Informer({ ...options, resource: resources.nodes, transform: slimNode }),
    networkPolicies: new Informer({ ...options, resource: resources.networkPolicies, transform: slimNetworkPolicy }),
    runtimeClasses: new Informer({ ...options, resource: resources.runtimeClasses, transform: slimObject }),
    abilities: new NodeAbilities(),
    configMaps: cacheOfOurs(options, resources.configMaps),
    deployments: cacheOfOurs(options, resources.deployments),
    ...cachesOfStorage(options),
    ...cachesOfKueue(options),
  };
}

/** Labels and annotations of tools that make a task again when it is deleted: Git would run it once more. */
const tracks = {
  labels: ['kustomize.toolkit.fluxcd.io/name', 'helm.toolkit.fluxcd.io/name', 'argocd.argoproj.io/instance'],
  annotations: ['argocd.argoproj.io/tracking-id'],
} as const;

/**
 * The label by which Argo CD tracks what it owns, unless an administrator chose another one or an annotation. People set it
 * too: a task with it is rather kept too long than run twice.
 */
export const usualTrackingLabels: readonly string[] = ['app.kubernetes.io/instance'];

/** Reports whether Git owns the task. `more`: labels that mark this, besides those that belong to one tool alone. Pure. */
export function isTracked({ metadata }: Pick<AgentTask, 'metadata'>, more: readonly string[]): boolean {
  return (
    [...tracks.labels, ...more].some((key) => metadata.labels?.[key] !== undefined) ||
    tracks.annotations.some((key) => metadata.annotations?.[key] !== undefined)
  );
}

/** Values that are remembered at a time; when there are more, all are forgotten, which costs memory only. */
const mostShared = 4096;

/**
 * Gives equal values as one and the same: thousands of tasks have the same defaults and conditions, and a parsed object
 * is ten times as large as its text. What is shared must never be changed, as nothing in a cache is.
 */
export class Shared {
  readonly #values = new Map<string, unknown>();

  of<T>(value: T): T {
    if (value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean') return value;
    const text = JSON.stringify(value);
    const known = this.#values.get(text);
    if (known !== undefined) return known as T;
    if (this.#values.size >= mostShared) this.#values.clear();
    this.#values.set(text, value);
    return value;
  }
}

/** Value of the index for tasks that name no pool. */
export const anyDefault = 'default';

/** `namespace/name` of the pool that a task names, or `default`. */
export function namedPool(task: AgentTask): string {
  const { poolRef } = task.spec;
  return poolRef === undefined ? anyDefault : `${poolRef.namespace ?? task.metadata.namespace ?? ''}/${poolRef.name}`;
}

/** Index of tasks by the pool that they name. */
export const poolIndex = 'pool';

/** Index of pods: sandboxes that were made ahead, by `namespace/name` of their pool; those too that a task has taken. */
export const warmIndex = 'warm';

/** `namespace/name` of the pool that made the sandbox ahead; undefined for every other pod. */
export function warmPoolOf({ metadata }: Pod): string | undefined {
  const { [labels.component]: component, [poolNamespaceLabel]: namespace, [labels.pool]: name } = metadata.labels ?? {};
  return component === 'sandbox' && namespace !== undefined && name !== undefined ? `${namespace}/${name}` : undefined;
}

/** Labels of what stands in a namespace for a pool of another one. */
export const poolNamespaceLabel = 'agentfleet.dev/pool-namespace';
