import type { V1Pod } from '@kubernetes/client-node';
import {
  controllerReference,
  findCondition,
  isControlledBy,
  isTrue,
  keyOf,
  mergeConditions,
  ResourceClient,
  type Condition,
  type Consistency,
  type KubeObject,
  type NewCondition,
  type Transport,
} from '@agentfleet/kube';
import { fieldManagers, type AgentTask, type ExpertPool, type Reason, type SandboxTemplate } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { shortHash } from '../../../revisions/arm.ts';
import type { Caches } from '../../../runtime/context.ts';
import { make } from '../../../runtime/make.ts';
import { resources, type ResourceFlavor, type Workload } from '../../../runtime/resources.ts';

/** The label by which a task asks Kueue for its admission; its value is the name of a LocalQueue of its namespace. */
export const queueLabel = 'kueue.x-k8s.io/queue-name';

/** Pattern of the names that Kueue accepts for a LocalQueue. */
const queueName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** On a Workload: hash of what its pod set was made from. */
const podSetAnnotation = 'agentfleet.dev/pod-set';

/** On a Workload: it is not active because its task is suspended, and not because another writer stopped it. */
const suspendedAnnotation = 'agentfleet.dev/suspended';

/** The one pod set of a task: its sandbox. */
interface PodSet {
  readonly name: 'main';
  readonly count: 1;
  readonly template: { readonly spec: object };
}

/** State of a task at Kueue. */
export interface QuotaView {
  /** Undefined: the task has no queue name any more. */
  readonly queue: string | undefined;
  /** Reason for which Kueue cannot be asked. */
  readonly missing: 'NotEnabled' | 'NotInstalled' | undefined;
  /** Undefined: there is none yet. */
  readonly workload: Workload | undefined;
  /** Pod set that its sandbox asks for; undefined while it has no pool. */
  readonly podSet: PodSet | undefined;
  /** All that the cluster has. */
  readonly flavors: readonly ResourceFlavor[];
}

/** Reason for which Kueue does not let a task work. */
export interface Gate {
  readonly reason: Reason;
  readonly message: string;
  /** Since when it has to stop, ms since the epoch; undefined: it was never let in, or the time is unknown. */
  readonly sinceMs?: number;
  /** No event requeues the task when this is over. */
  readonly unwatched?: boolean;
}

/** Change of a Workload. */
export type QuotaAction =
  | { readonly type: 'createWorkload'; readonly workload: Omit<Workload, 'apiVersion' | 'kind'> }
  | { readonly type: 'patchWorkload'; readonly workload: Workload; readonly change: object; readonly subresource?: 'status' }
  | { readonly type: 'deleteWorkload'; readonly workload: Workload };

/** Returns the reason for which Kueue cannot be asked at all, in words that name the cure; undefined when it can. Pure. */
export function unusableQueue({ queue, missing }: QuotaView): { readonly reason: Reason; readonly message: string } | undefined {
  if (queue === undefined) return undefined;
  const asked = `the label ${queueLabel} is ${JSON.stringify(queue)}`;
  if (!queueName.test(queue))
    return { reason: 'QueueNameInvalid', message: `${asked}, which no LocalQueue can be called; correct it with a name of a-z, 0-9 and -` };
  if (missing === undefined) return undefined;
  const why =
    missing === 'NotEnabled'
      ? 'this AgentFleet does not work with Kueue; set kueue.enabled of the chart'
      : 'the cluster does not serve Workloads (kueue.x-k8s.io/v1beta2); install Kueue 0.15 or later';
  return { reason: 'KueueUnavailable', message: `${asked}, and ${why}, or take the label away` };
}

/**
 * Returns the reason that keeps a task from working until Kueue admits it; undefined when there is none. Evicted counts before Admitted,
 * which stays true until quota is given back. Pure.
 */
export function gateOf(view: QuotaView): Gate | undefined {
  const { queue, workload } = view;
  if (queue === undefined || unusableQueue(view) !== undefined) return undefined;
  const from = `LocalQueue ${queue} of Kueue`;
  if (workload === undefined || workload.metadata.deletionTimestamp !== undefined)
    return { reason: 'AdmissionPending', message: `${from} is asked for quota` };
  const { name } = workload.metadata;
  const conditions = workload.status?.conditions ?? [];
  const evicted = findCondition(conditions, 'Evicted');
  if (evicted?.status === 'True') {
    const reserved = isTrue(conditions, 'QuotaReserved');
    const pending = reserved ? '' : `; ${findCondition(conditions, 'QuotaReserved')?.message ?? 'it waits for quota'}`;
    const message = `${from} evicted Workload ${name} (${evicted.reason}: ${evicted.message})${pending}`;
    return { reason: 'Evicted', message, sinceMs: Date.parse(evicted.lastTransitionTime) };
  }
  if (isTrue(conditions, 'Finished'))
    return { reason: 'AdmissionPending', message: `Workload ${name} is finished, and its task is not; delete it, and another one is made` };
  if (!isTrue(conditions, 'Admitted'))
    return { reason: 'AdmissionPending', message: `${from} has not admitted Workload ${name}: ${awaited(workload)}` };
  const unknown = flavorNames(workload).find((flavor) => !view.flavors.some(({ metadata }) => metadata.name === flavor));
  return unknown === undefined
    ? undefined
    : { reason: 'AdmissionPending', message: `there is no ResourceFlavor ${unknown}, in which ${from} admitted it`, unwatched: true };
}

function awaited({ status }: Workload): string {
  const reserved = findCondition(status?.conditions, 'QuotaReserved');
  if (reserved?.status !== 'True')
    return reserved?.message ?? 'it has not looked at it; see whether Kueue runs, and whether it has that queue';
  const checks = (status?.admissionChecks ?? []).filter(({ state }) => state !== 'Ready');
  const words = checks.map(({ name, state, message = '' }) => `${name} is ${state}${message === '' ? '' : ` (${message})`}`);
  return `quota is reserved, and its admission checks are awaited${words.length === 0 ? '' : `: ${words.join(', ')}`}`;
}

function flavorNames({ status }: Workload): readonly string[] {
  const assignments = status?.admission?.podSetAssignments ?? [];
  return [...new Set(assignments.flatMap(({ flavors = {} }) => Object.values(flavors)))].sort();
}

/** Returns the placement that the sandbox of an admitted task must have, by the flavors that its quota is of. Pure. */
export function flavorPlacement(view: QuotaView | undefined): Pick<SandboxTemplate, 'nodeSelector' | 'tolerations'> {
  if (view?.queue === undefined || view.workload === undefined) return {};
  const names = flavorNames(view.workload);
  const flavors = view.flavors.filter(({ metadata }) => names.includes(metadata.name));
  const nodeSelector = Object.assign({}, ...flavors.map(({ spec }) => spec?.nodeLabels)) as Readonly<Record<string, string>>;
  const tolerations = flavors.flatMap(({ spec }) => spec?.tolerations ?? []);
  return {
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
  };
}

/**
 * Returns the part of a sandbox that Kueue counts. Init containers are left out, as they ask for less than the rest, and nodes by name,
 * which change with what nodes can: neither is to replace a Workload. Pure.
 */
export function podSetOf({ spec }: V1Pod): PodSet {
  const { nodeSelector, tolerations, runtimeClassName, priorityClassName, containers = [] } = spec ?? {};
  const kept = { nodeSelector, tolerations, runtimeClassName, priorityClassName };
  const said = Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined));
  const asks = containers.map(({ name, image, resources }) => ({ name, image, resources }));
  return { name: 'main', count: 1, template: { spec: { restartPolicy: 'Never', ...said, containers: asks } } };
}

const digest = (value: unknown): string => shortHash(value, 16);

/** Of one task, not of one name: a task that is made again asks again. */
function workloadName({ metadata: { name, uid = '' } }: AgentTask): string {
  return `${name.slice(0, 46).replace(/[-.]+$/, '')}-${digest(uid)}`;
}

/** Facts about a task for the care of its Workload. */
export interface Holding {
  readonly task: AgentTask;
  readonly now: number;
  /** Nothing but Kueue keeps it from working. */
  readonly asks: boolean;
  /** No pool takes it, so that it must hold no quota. */
  readonly refused: boolean;
  /** Its sandbox answers, and a worker works in it. */
  readonly works: boolean;
  /** Undefined: it goes on. */
  readonly ended: { readonly succeeded: boolean; readonly message: string } | undefined;
  /** It has an attempt that is not over. */
  readonly open: boolean;
  /** It has pods, or may have. */
  readonly pods: boolean;
}

/** One change of the Workload at a time, as each is a version of its own. Quota is given back only when no pod is left. Pure. */
export function quotaActions(view: QuotaView | undefined, holding: Holding): readonly QuotaAction[] {
  if (view === undefined) return [];
  const { workload } = view;
  if (workload === undefined) return created(view, holding);
  const { conditions = [] } = workload.status ?? {};
  if (workload.metadata.deletionTimestamp !== undefined || isTrue(conditions, 'Finished')) return [];
  if (holding.ended !== undefined) return holding.pods ? [] : [reported(workload, [finished(holding.ended)], holding.now)];
  const idle = !holding.pods && !holding.open;
  const outdated = view.podSet !== undefined && workload.metadata.annotations?.[podSetAnnotation] !== digest(view.podSet);
  if (view.queue === undefined || (idle && (holding.refused || outdated))) return [{ type: 'deleteWorkload', workload }];
  const change = specChange(workload, view.queue, holding.task);
  if (change !== undefined) return [{ type: 'patchWorkload', workload, change }];
  const evicted = findCondition(conditions, 'Evicted');
  if (evicted?.status === 'True')
    return holding.pods || !isTrue(conditions, 'QuotaReserved') ? [] : [givenBack(workload, evicted, holding.now)];
  return holding.works && !isTrue(conditions, 'PodsReady') ? [reported(workload, [podsReady], holding.now)] : [];
}

function created({ queue, podSet }: QuotaView, { task, asks }: Holding): readonly QuotaAction[] {
  if (!asks || queue === undefined || podSet === undefined) return [];
  const metadata = {
    name: workloadName(task),
    namespace: task.metadata.namespace ?? '',
    labels: { [labels.component]: 'sandbox', [labels.task]: task.metadata.name },
    annotations: { [podSetAnnotation]: digest(podSet) },
    ownerReferences: [controllerReference(task)],
  };
  const spec = { queueName: queue, priority: task.spec.priority, podSets: [podSet] };
  return [{ type: 'createWorkload', workload: { metadata, spec } }];
}

/** Undefined: it is as it should be. A Workload that another writer stopped stays stopped. */
function specChange({ metadata, spec = {}, status }: Workload, queueName: string, task: AgentTask): object | undefined {
  const moves = spec.queueName !== queueName && !isTrue(status?.conditions, 'QuotaReserved');
  const ours = metadata.annotations?.[suspendedAnnotation] !== undefined;
  const change = {
    ...(moves ? { queueName } : {}),
    ...(spec.priority === task.spec.priority ? {} : { priority: task.spec.priority }),
    ...(task.spec.suspend && spec.active !== false ? { active: false } : {}),
    ...(!task.spec.suspend && ours ? { active: true } : {}),
  };
  if (Object.keys(change).length === 0) return undefined;
  const annotations = 'active' in change ? { [suspendedAnnotation]: change.active ? null : 'true' } : undefined;
  return { ...(annotations === undefined ? {} : { metadata: { annotations } }), spec: change };
}

const said = (type: string, status: 'True' | 'False', reason: string, message: string): NewCondition => ({ type, status, reason, message });

const finished = ({ succeeded, message }: NonNullable<Holding['ended']>): NewCondition =>
  said('Finished', 'True', succeeded ? 'Succeeded' : 'Failed', message);

const podsReady = said('PodsReady', 'True', 'Started', 'the sandbox answers');

/** Evictions after which Kueue queues a Workload at once; after all others it reports itself when. */
const queuedAtOnce: ReadonlySet<string> = new Set(['Preempted', 'NodeFailures']);

/** Kueue leaves it to the maker of a Workload to give its quota back: only the maker knows that nothing runs any more. */
function givenBack(workload: Workload, { reason, message }: Condition, now: number): QuotaAction {
  const changes = [
    said('QuotaReserved', 'False', 'Pending', message),
    said('Admitted', 'False', 'NoReservation', 'The workload has no reservation'),
    said('Requeued', queuedAtOnce.has(reason) ? 'True' : 'False', reason, message),
    said('PodsReady', 'False', 'WaitForStart', 'the sandbox is gone'),
  ];
  return reported(workload, changes, now, { admission: null });
}

function reported(workload: Workload, changes: readonly NewCondition[], now: number, more: object = {}): QuotaAction {
  const { conditions = [] } = workload.status ?? {};
  const { generation: observedGeneration } = workload.metadata;
  const versioned = changes.map((change) => ({ ...change, ...(observedGeneration === undefined ? {} : { observedGeneration }) }));
  const types = new Set(changes.map(({ type }) => type));
  const kept: readonly NewCondition[] = conditions.filter(({ type }) => !types.has(type));
  const status = { ...more, conditions: mergeConditions(conditions, [...kept, ...versioned], now) };
  return { type: 'patchWorkload', workload, subresource: 'status', change: { metadata: versionOf(workload), status } };
}

/** Conditions are written as a whole: what another one wrote since must not be lost. */
function versionOf({ metadata: { resourceVersion, uid } }: KubeObject): object {
  return { resourceVersion, uid };
}

const fieldManager = fieldManagers.operator;

interface WorkloadsOptions {
  readonly transport: Transport;
  readonly caches: Pick<Caches, 'workloads' | 'resourceFlavors'>;
  readonly consistency: Pick<Consistency, 'wrote' | 'deleted'>;
  /** The sandbox that a task of the pool would get. */
  readonly sandbox: (task: AgentTask, pool: ExpertPool) => V1Pod;
}

/** Workloads by which Kueue admits tasks: read from the cache, written one change at a time. */
export class Workloads {
  readonly #options: WorkloadsOptions;
  readonly #client: ResourceClient<Workload>;

  constructor(options: WorkloadsOptions) {
    this.#options = options;
    this.#client = new ResourceClient(options.transport, resources.workloads);
  }

  /** Undefined for a task that has nothing to do with Kueue. */
  view(task: AgentTask, pool: ExpertPool | undefined): QuotaView | undefined {
    const { workloads, resourceFlavors } = this.#options.caches;
    const queue = task.metadata.labels?.[queueLabel];
    const workload = this.#of(keyOf(task)).find((one) => isControlledBy(one, task));
    if (queue === undefined && workload === undefined) return undefined;
    return {
      queue,
      missing: workloads === undefined ? 'NotEnabled' : workloads.isServed ? undefined : 'NotInstalled',
      workload,
      podSet: pool === undefined ? undefined : podSetOf(this.#options.sandbox(task, pool)),
      flavors: workload === undefined ? [] : (resourceFlavors?.informer.lister.list() ?? []),
    };
  }

  /** Reports whether a Workload of a task of this name may hold quota. */
  holds(key: string): boolean {
    return this.#of(key).some(({ status }) => !isTrue(status?.conditions, 'Finished'));
  }

  /** Rejects on a conflict: Kueue wrote meanwhile. Returns why the server does not take a new one. */
  async run(task: AgentTask, action: QuotaAction, signal: AbortSignal): Promise<string | undefined> {
    const cache = this.#cache();
    if (action.type === 'createWorkload')
      return make({ client: this.#client, cache }, task, action.workload, this.#options.consistency, signal);
    if (action.type === 'deleteWorkload') {
      await this.#client.remove(action.workload, { signal });
      this.#options.consistency.deleted(keyOf(task), cache, action.workload);
      return undefined;
    }
    const { subresource } = action;
    const changed = await this.#client.patch(action.workload.metadata, action.change, {
      fieldManager,
      signal,
      ...(subresource === undefined ? {} : { subresource }),
    });
    this.#options.consistency.wrote(keyOf(task), cache, changed);
    return undefined;
  }

  #of(key: string): readonly Workload[] {
    return this.#options.caches.workloads?.informer.lister.byIndex('task', key) ?? [];
  }

  #cache() {
    const { workloads } = this.#options.caches;
    if (workloads === undefined) throw new Error('a Workload is written although kueue is off');
    return workloads.informer;
  }
}
