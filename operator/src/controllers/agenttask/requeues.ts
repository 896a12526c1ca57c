import { channel, findCondition, keyOf, lowPriority, ResourceClient, type Clock, type Enqueue, type Source } from '@agentfleet/kube';
import type { AgentTask, ExpertPool, PoolGrant } from '@agentfleet/protocol/api';
import { briefKey, labels } from '@agentfleet/protocol/pool';
import { isWorkerPod } from '../../pools/resolve.ts';
import type { Caches, OperatorContext } from '../../runtime/context.ts';
import { resources, type ConfigMap, type NetworkPolicy, type Pod } from '../../runtime/resources.ts';
import { dependencyIndex, wakeIndex, wakeValues, workerIndex } from '../../runtime/taskCensus.ts';
import { unsupportedReasons } from './acceptance.ts';
import type { Ledger } from './queue/queues.ts';
import { jwksConfigMap } from './sandbox/pod.ts';
import { sameAbility } from './sandbox/capabilities.ts';
import type { Observer } from './observe.ts';
import { isReady } from '../../serving/podTrouble.ts';
import { isCrowdedOut, standing } from './queue/poolQueue.ts';
import { type Transition, type DesiredStatus, type Facts, deadlineSecondsOf, queuedUntil } from './facts/snapshot.ts';
import { leavesOpen } from './facts/closing.ts';
import { sandboxUntil, taskUntil } from './storage/plan.ts';
import { evictedUntil } from './approvals.ts';
import { surelyEndedAt } from './sandbox/state.ts';
import { slowStartAt, slowStartMs, startTimeoutSeconds, startUntil } from './verdict.ts';
import { anyDefault, isTracked, poolIndex, usualTrackingLabels } from '../../runtime/caches.ts';
import { slimTask } from '../../runtime/transforms.ts';

interface RequeuesOptions {
  readonly caches: Caches;
  readonly observer: Observer;
  readonly ledger: Ledger;
}

/** Most tasks that one event wakes for free slots: a task that takes one of many slots causes another event. */
const mostAtOnce = 64;

/**
 * Requeues tasks whose chance has come: as many as there are free slots, in their turn, and never all; indexes find them.
 * A wake-up that is lost costs time only: a task that waits is looked at again by its timer.
 */
export class Requeues {
  readonly source: Source;
  readonly #enqueue: Enqueue;
  readonly #options: RequeuesOptions;

  constructor(options: RequeuesOptions) {
    this.#options = options;
    const { source, enqueue } = channel('wakes');
    this.source = source;
    this.#enqueue = enqueue;
    this.#follow();
  }

  /** The worker `namespace/name` lives again: its slots are free. */
  workerIsFresh(key: string): void {
    const pod = this.#options.caches.pods.lister.get(key);
    if (pod !== undefined && isReady(pod)) this.#workerIsReady(pod);
  }

  /** The worker `namespace/name` does not renew its Lease any more, or is gone: its tasks have to go elsewhere. */
  workerIsLost(key: string): void {
    const { caches, ledger } = this.#options;
    for (const task of caches.tasks.lister.byIndex(workerIndex, key)) this.#enqueue(keyOf(task));
    for (const task of ledger.onTheirWayTo(key)) this.#enqueue(task);
  }

  #follow(): void {
    const { caches } = this.#options;
    caches.tasks.addHandler({
      onAdd: (task) => this.#dependentsOf(keyOf(task)),
      onUpdate: (old, task) => this.#moved(old, task),
      onDelete: (task) => this.#moved(task, undefined),
    });
    caches.pods.addHandler({
      onAdd: (pod) => this.#workerChanged(undefined, pod),
      onUpdate: (old, pod) => this.#workerChanged(old, pod),
      onDelete: (pod) => (isWorkerPod(pod) ? this.workerIsLost(keyOf(pod)) : undefined),
    });
    caches.pools.addHandler({
      onAdd: (pool) => this.#poolChanged(pool),
      onUpdate: (old, pool) => (old.metadata.generation === pool.metadata.generation ? undefined : this.#poolChanged(pool, old)),
      onDelete: (pool) => this.#poolChanged(pool),
    });
    const refused = ({ metadata: { name } }: { readonly metadata: { readonly name: string } }): void =>
      this.#waiting(`NotAccepted ${name}`);
    caches.namespaces.addHandler({ onAdd: refused, onUpdate: (_, namespace) => refused(namespace) });
    const consented = ({ metadata: { namespace = '' } }: PoolGrant): void => this.#consentChanged(namespace);
    caches.poolGrants.addHandler({ onAdd: consented, onUpdate: (_, grant) => consented(grant), onDelete: consented });
    const grounded = (): void => {
      for (const reason of unsupportedReasons) this.#waiting(reason);
    };
    caches.nodes.addHandler({ onAdd: grounded, onUpdate: (old, node) => (sameAbility(old, node) ? undefined : grounded()) });
    caches.runtimeClasses.addHandler({ onAdd: grounded, onUpdate: grounded });
    const opened = ({ metadata: { namespace = '' } }: NetworkPolicy): void => this.#opened(namespace);
    caches.networkPolicies.addHandler({ onAdd: opened, onUpdate: (_, policy) => opened(policy), onDelete: opened });
    caches.configMaps.addHandler({ onAdd: (map) => this.#prepared(map), onUpdate: (_, map) => this.#prepared(map) });
  }

  /** Tasks that were refused may have a pool now, and tasks that name none may have another one. */
  #consentChanged(namespace: string): void {
    this.#waiting(`NotAccepted ${namespace}`);
    for (const task of this.#options.caches.tasks.lister.byIndex('namespace', namespace))
      if (standing(task) === 'Queued') this.#enqueue(keyOf(task), { priority: lowPriority });
  }

  /** The keys of a namespace concern its own tasks, the brief of a pool those of any. */
  #prepared({ metadata: { name, namespace = '' }, data }: ConfigMap): void {
    const of = name === jwksConfigMap ? ` ${namespace}` : data?.[briefKey] === undefined ? undefined : '';
    if (of === undefined) return;
    for (const value of [wakeValues.unseen, 'NamespaceNotPrepared']) this.#waiting(`${value}${of}`);
  }

  /** A policy came, changed or went: the wall of every sandbox of the namespace may be another one. */
  #opened(namespace: string): void {
    for (const task of this.#options.caches.tasks.lister.list({ namespace })) this.#enqueue(keyOf(task), { priority: lowPriority });
  }

  /** A slot or a place in the queue is free when a task moves from one to the other or leaves. */
  #moved(old: AgentTask, task: AgentTask | undefined): void {
    // A task that has ended leaves the cache: tasks that depend on it may begin.
    if (task === undefined) this.#dependentsOf(keyOf(old));
    const [before, after] = [standing(old), task === undefined ? 'Elsewhere' : standing(task)];
    // Several places may have become free at once: one that was refused and has one now wakes the next.
    const entered = after === 'Queued' && isCrowdedOut(old);
    if (before === after || (before === 'Elsewhere' && !entered)) return;
    const took = after === 'Running';
    const { pool } = this.#options.observer.resolve(old);
    // A task that took a slot left a place in the queue, which matters only where places are counted.
    if (pool === undefined || (took && pool.spec.limits?.maxQueued === undefined)) return;
    // Several slots may be free by now, and those that were woken for the first ones not looked at yet.
    this.#wake(pool, Math.max(1, Math.min(mostAtOnce, this.#options.observer.freeSlots(pool))));
  }

  #workerChanged(old: Pod | undefined, pod: Pod): void {
    if (!isWorkerPod(pod)) return;
    if (pod.metadata.deletionTimestamp !== undefined && old?.metadata.deletionTimestamp === undefined) this.workerIsLost(keyOf(pod));
    else if (isReady(pod) && (old === undefined || !isReady(old))) this.#workerIsReady(pod);
  }

  #workerIsReady(pod: Pod): void {
    const pool = this.#poolOf(pod);
    if (pool === undefined) return;
    this.#wake(pool, pool.spec.workers.concurrency);
    // A task that has to be undone waits for any worker.
    this.#waiting(wakeValues.rollingBack);
  }

  /** The one event that concerns all tasks of a pool. Those in the queue are looked at when there is nothing else to do. */
  #poolChanged(pool: ExpertPool, old: ExpertPool = pool): void {
    const { lister } = this.#options.caches.tasks;
    const defaults = pool.spec.default || old.spec.default ? lister.byIndex(poolIndex, anyDefault) : [];
    for (const task of [...lister.byIndex(poolIndex, keyOf(pool)), ...defaults]) {
      if (task.status?.finished === 'true') continue;
      this.#enqueue(keyOf(task), standing(task) === 'Queued' ? { priority: lowPriority } : {});
    }
    this.#wake(pool, Math.min(mostAtOnce, this.#options.observer.freeSlots(pool)));
  }

  #poolOf(pod: Pod): ExpertPool | undefined {
    const name = pod.metadata.labels?.[labels.pool];
    return name === undefined ? undefined : this.#options.caches.pools.lister.get(`${pod.metadata.namespace ?? ''}/${name}`);
  }

  #wake(pool: ExpertPool, slots: number): void {
    for (const key of this.#options.observer.next(pool, slots)) this.#enqueue(key);
  }

  #dependentsOf(key: string): void {
    for (const task of this.#options.caches.tasks.lister.byIndex(dependencyIndex, key)) this.#enqueue(keyOf(task));
  }

  #waiting(value: string): void {
    for (const task of this.#options.caches.tasks.lister.byIndex(wakeIndex, value)) this.#enqueue(keyOf(task));
  }
}

/** Waits until a task is looked at, ms: a free slot wakes it before; these are for a lost wake-up, and for the shown position. */
const waitMs = { first: 15_000, perPlace: 1_000, longest: 300_000 } as const;

/** A task that Kueue was not there for is looked at again so soon. */
const kueueLookMs = 30_000;

/** Ms after which time alone may change the decision; undefined when it cannot. At least 1. */
export function timers(facts: Facts, transition: Transition, status: DesiredStatus, storageMs: number | undefined): number | undefined {
  const { now, snapshot, task } = facts;
  const moments = [
    sandboxUntil(facts, status),
    taskUntil(facts, status),
    ...snapshot.pods.filter((pod) => pod.metadata.deletionTimestamp !== undefined).map(surelyEndedAt),
    ...courseMoments(facts, transition, status),
    now + (storageMs ?? Infinity),
  ];
  if (task.metadata.deletionTimestamp !== undefined) return undefined;
  const next = Math.min(...moments.filter((at) => at > now));
  return Number.isFinite(next) ? Math.max(1, Math.ceil(next - now)) : undefined;
}

function courseMoments(facts: Facts, transition: Transition, status: DesiredStatus): readonly number[] {
  const { now, remainingMs, snapshot } = facts;
  // The deadline of a clock that runs from now on is not known to the facts. A lost worker wakes the task, see Requeues.
  const resumes = remainingMs === Infinity && status.clock !== undefined && status.clock.pausedAt === undefined;
  const deadline = resumes ? now + deadlineSecondsOf(snapshot) * 1000 : now + remainingMs;
  switch (transition.kind) {
    case 'Ended':
    case 'End':
      return [];
    case 'Suspend':
      return [
        startUntil(facts),
        transition.gate === undefined || transition.rest !== 'Quiescing' ? Infinity : evictedUntil(facts, transition.gate),
      ];
    case 'Await':
      return [Date.parse(transition.pending.expires)];
    case 'Refuse':
      // No event reports that the cluster serves its Workloads now.
      return [now + (transition.refusal.reason === 'KueueUnavailable' ? kueueLookMs : waitMs.longest)];
    case 'Wait':
      return [
        transition.untilMs ?? now + Math.min(waitMs.longest, waitMs.first + waitMs.perPlace * (transition.position ?? 0)),
        deadline,
        queuedUntil(status, snapshot),
      ];
    case 'Rollback':
      return [transition.untilMs];
    case 'Bind': {
      const starts = status.assignment?.sandboxReadyAt === undefined;
      const moments = [now + slowStartMs.look, now + startTimeoutSeconds(snapshot.resolution.pool) * 1000];
      return [deadline, ...(starts ? moments : [])];
    }
    case 'Run':
    case 'Stop':
      break;
  }
  return [deadline, startUntil(facts), slowStartAt(facts)];
}

/** Returns the time until a task that has ended needs an action, ms; undefined: it needs only what its pods ask for. */
function careDueMs(task: AgentTask, trackingLabels: readonly string[], now: number): number | undefined {
  const { metadata, status = {}, spec } = task;
  if (status.finished !== 'true' || metadata.deletionTimestamp !== undefined) return undefined;
  if (status.storage !== undefined || status.observedGeneration !== metadata.generation || leavesOpen({ status })) return 0;
  if (spec.ttlSecondsAfterFinished === undefined || isTracked(task, trackingLabels)) return undefined;
  const ended = Date.parse(findCondition(status.conditions, 'Finished')?.lastTransitionTime ?? '');
  return Math.max(0, ended + spec.ttlSecondsAfterFinished * 1000 - now);
}

interface Due {
  /** Monotonic ms. */
  readonly at: number;
  /** Whether it comes from a decision, which knew of the sandbox too. */
  readonly decided: boolean;
}

/**
 * Tasks that have ended and are in no cache: which of them are to be looked at again, and when. Whatever is lost here is
 * found again: live sandboxes lead to their tasks, and the rest is seen when all tasks that have ended are looked at.
 */
export class EndedTasks {
  readonly source: Source;
  readonly #client: ResourceClient<AgentTask>;
  readonly #clock: Clock;
  readonly #due = new Map<string, Due>();

  constructor({ transport, clock, config, caches: { census } }: Pick<OperatorContext, 'transport' | 'clock' | 'config' | 'caches'>) {
    const { trackingLabels = usualTrackingLabels } = config;
    this.#client = new ResourceClient(transport, resources.agentTasks);
    this.#clock = clock;
    const { source, enqueue } = channel('retention');
    const seen = (task: AgentTask): void => {
      const afterMs = careDueMs(task, trackingLabels, clock.now());
      if (afterMs === undefined) return;
      const key = keyOf(task);
      const at = clock.monotonic() + afterMs;
      const due = this.#due.get(key);
      // A decision about an earlier spec knows nothing of a time to live that is shorter now.
      const isEdited = task.metadata.generation !== task.status?.observedGeneration && at < (due?.at ?? Infinity);
      if (due?.decided !== true || isEdited) this.#due.set(key, { at, decided: due?.decided === true });
      enqueue(key, { priority: lowPriority, afterMs });
    };
    this.source = {
      ...source,
      start: (to) => {
        // An earlier leader may have left work: all are looked at now.
        const ends = [source.start(to), census.onSeen(seen), census.follow()];
        return () => {
          for (const end of ends) end();
        };
      },
    };
  }

  /** It is to be looked at in `afterMs`; undefined: never again. */
  note(key: string, afterMs: number | undefined): void {
    if (afterMs === undefined) this.#due.delete(key);
    else this.#due.set(key, { at: this.#clock.monotonic() + afterMs, decided: true });
  }

  /**
   * Returns the time for which a task in no cache needs no action, ms; 0: it has to be looked at. `sandboxed`: a sandbox of it is there,
   * which has to go, or has a time to go at.
   */
  restMs(key: string, sandboxed: boolean): number {
    const due = this.#due.get(key);
    if (sandboxed && due?.decided !== true) return 0;
    return due === undefined ? Infinity : Math.max(0, due.at - this.#clock.monotonic());
  }

  /** The task as it is now, when it is there and has ended. One that has not will be in the cache in a moment. */
  async read(key: string, signal: AbortSignal): Promise<AgentTask | undefined> {
    const [namespace = '', name = ''] = key.split('/');
    const task = await this.#client.find({ namespace, name }, { signal });
    return task?.status?.finished === 'true' ? slimTask(task) : undefined;
  }
}
