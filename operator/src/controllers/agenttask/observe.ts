import { keyOf, type Clock, type KubeObject } from '@agentfleet/kube';
import type { AgentTask, AgentTaskOrder, ExpertPool } from '@agentfleet/protocol/api';
import type { IsolationLevel } from '@agentfleet/protocol/keeper';
import { labels } from '@agentfleet/protocol/pool';
import { anyDefault, poolIndex, poolLookup } from '../../pools/lookup.ts';
import { resolvePool, type Resolution } from '../../pools/resolve.ts';
import { templateAnnotation, warmIndex } from '../../pools/warm.ts';
import type { Caches } from '../../runtime/context.ts';
import type { Pod } from '../../runtime/objects.ts';
import { isolationFloor } from './acceptance.ts';
import { isClaimable } from './claim.ts';
import type { Ledger } from './ledger.ts';
import { groundOf, type Ground } from './nodeAbility.ts';
import { Preparations } from './prepared.ts';
import { byTurn, nextInTurn, queueView } from './queue.ts';
import { sandboxState } from './sandboxState.ts';
import type { Snapshot, StorageView, WorkerView } from './snapshot.ts';
import type { Heartbeats } from '../../runtime/heartbeats.ts';

/** What an observer reads besides the caches. */
export interface ObserverOptions {
  readonly caches: Caches;
  readonly clock: Clock;
  /** Whether the platform lists hosts for set-up steps with network Registries. */
  readonly registriesListed: boolean;
  /** Hash of what sandboxes of a pool are made from under a floor of isolation. */
  readonly templates: (pool: ExpertPool, floor: IsolationLevel) => string;
  readonly ledger: Ledger;
  readonly leases: Pick<Heartbeats, 'freshMs'>;
}

/** What an earlier decision about the same look came to. */
export interface Hindrances {
  /** Why the API server refused the sandbox. */
  readonly refusal: string | undefined;
  /** Uids of waiting sandboxes that somebody else was faster to take. */
  readonly taken: ReadonlySet<string>;
}

/** Reads the caches: no I/O, no decisions. */
export class Observer {
  readonly #options: ObserverOptions;
  readonly #preparations: Preparations;

  constructor(options: ObserverOptions) {
    this.#options = options;
    this.#preparations = new Preparations(options.caches);
  }

  /** Everything that a decision about the task looks at, as of this moment. */
  snapshot(
    task: AgentTask,
    sinceWriteMs: number,
    hindrances: Hindrances = { refusal: undefined, taken: new Set() },
    storage?: StorageView,
  ): Snapshot {
    const { caches } = this.#options;
    const resolution = this.resolve(task);
    const orders = this.#orders(task);
    const pods = caches.pods.lister.byIndex('task', keyOf(task)).filter(isSandbox);
    const { pool } = resolution;
    const tasks = pool === undefined ? [] : this.tasksOf(pool);
    const blocked = (namespace: string): boolean => pool === undefined || !this.#preparations.has(pool, namespace);
    const { maxRunning = Infinity, perNamespace = Infinity } = pool?.spec.limits ?? {};
    return {
      task,
      resolution,
      registriesListed: this.#options.registriesListed,
      ground: this.ground(),
      prepared: !blocked(task.metadata.namespace ?? ''),
      pods,
      warm: pool === undefined || pods.length > 0 ? [] : this.#warm(task, pool, hindrances.taken),
      workers: pool === undefined ? [] : this.#workers(pool, tasks, task),
      assigned: this.#assigned(task),
      queue: queueView(task, tasks, { maxRunning, perNamespace }, (other) => this.#options.ledger.standing(other), blocked),
      cancelOrder: orders.find(({ spec }) => spec.type === 'Cancel')?.metadata.name,
      answers: orders.filter(({ spec }) => spec.type !== 'Cancel'),
      refusal: hindrances.refusal,
      storage,
      sinceWriteMs,
    };
  }

  /** What the cluster can run sandboxes on now. */
  ground(): Ground {
    return groundOf(this.#options.caches);
  }

  resolve(task: AgentTask): Resolution {
    return resolvePool(task, poolLookup(this.#options.caches));
  }

  /** Tasks that belong to a pool, by name or because it is their default. */
  tasksOf(pool: ExpertPool): readonly AgentTask[] {
    const { lister } = this.#options.caches.tasks;
    const key = keyOf(pool);
    const lookup = poolLookup(this.#options.caches);
    const byDefault = lister.byIndex(poolIndex, anyDefault).filter((task) => {
      const found = resolvePool(task, lookup).pool;
      return found !== undefined && keyOf(found) === key;
    });
    return [...lister.byIndex(poolIndex, key), ...byDefault];
  }

  /** Keys of the tasks to look at when slots of the pool become free, in their turn; also the next one that found no place in the queue. */
  next(pool: ExpertPool, slots: number): readonly string[] {
    const tasks = this.tasksOf(pool);
    const { perNamespace = Infinity, maxQueued } = pool.spec.limits ?? {};
    const used = new Map<string, number>();
    for (const task of tasks) {
      const namespace = task.metadata.namespace ?? '';
      if (this.#options.ledger.standing(task) === 'Running') used.set(namespace, (used.get(namespace) ?? 0) + 1);
    }
    const blocked = (namespace: string): boolean => (used.get(namespace) ?? 0) >= perNamespace || !this.#preparations.has(pool, namespace);
    const refused = maxQueued === undefined ? [] : tasks.filter(isCrowdedOut).sort(byTurn).slice(0, slots);
    const waiting = nextInTurn(tasks, slots, blocked).filter((task) => this.#options.ledger.standing(task) !== 'Running');
    return [...waiting, ...refused].map((task) => keyOf(task));
  }

  /** Sandbox pods of the task of this name, whether it exists or not. */
  sandboxes(key: string): readonly Pod[] {
    return this.#options.caches.pods.lister.byIndex('task', key).filter(isSandbox);
  }

  /** Sandboxes that wait ready in the namespace of the task and are what its own would be. */
  #warm(task: AgentTask, pool: ExpertPool, excluded: ReadonlySet<string>): readonly Pod[] {
    const { caches, ledger, templates } = this.#options;
    const { namespace } = task.metadata;
    if (task.spec.sandbox !== undefined) return [];
    const waiting = caches.pods.lister
      .byIndex(warmIndex, keyOf(pool))
      .filter((pod) => pod.metadata.namespace === namespace && isClaimable(pod) && sandboxState(pod, false).ready)
      .filter(({ metadata: { uid = '' } }) => !excluded.has(uid) && !ledger.isSpokenFor(uid));
    if (waiting.length === 0) return [];
    const template = templates(pool, isolationFloor({ task }, pool));
    return waiting.filter(({ metadata }) => metadata.annotations?.[templateAnnotation] === template).sort(byAge);
  }

  #workers(pool: ExpertPool, tasks: readonly AgentTask[], own: AgentTask): readonly WorkerView[] {
    const { ledger, caches } = this.#options;
    const loads = new Map<string, number>();
    for (const task of tasks) {
      const worker = task.metadata.uid !== own.metadata.uid && ledger.standing(task) === 'Running' ? ledger.worker(task) : undefined;
      if (worker !== undefined) loads.set(worker, (loads.get(worker) ?? 0) + 1);
    }
    return caches.pods.lister
      .byIndex('pool', keyOf(pool))
      .filter((pod) => pod.metadata.labels?.[labels.component] === 'worker')
      .map((pod) => this.#view(pod.metadata.namespace ?? '', pod.metadata.name, pod, loads.get(keyOf(pod)) ?? 0));
  }

  #assigned({ status }: AgentTask): WorkerView | undefined {
    const { worker, workerNamespace } = status?.assignment ?? {};
    if (worker === undefined || workerNamespace === undefined) return undefined;
    return this.#view(workerNamespace, worker, this.#options.caches.pods.lister.get(`${workerNamespace}/${worker}`), 0);
  }

  #view(namespace: string, name: string, pod: Pod | undefined, load: number): WorkerView {
    const freshMs = this.#options.leases.freshMs(`${namespace}/${name}`);
    const lost = lossOfWorker(`${namespace}/${name}`, pod, freshMs);
    return { name, namespace, lost, freshMs, load, ready: lost === undefined && isReady(pod) };
  }

  /** Orders that stand, the oldest first. One for an earlier task of this name is none for this one. */
  #orders(task: AgentTask): readonly AgentTaskOrder[] {
    const { namespace = '', name, creationTimestamp = '' } = task.metadata;
    const stands = ({ spec, status, metadata }: AgentTaskOrder): boolean =>
      spec.taskRef.name === name &&
      status?.state !== 'Refused' &&
      (spec.type === 'Cancel' || status?.state !== 'Done') &&
      (metadata.creationTimestamp ?? '') >= creationTimestamp &&
      (metadata.ownerReferences ?? []).every((owner) => owner.kind !== 'AgentTask' || owner.uid === task.metadata.uid);
    return this.#options.caches.orders.lister.list({ namespace }).filter(stands).sort(byAge);
  }
}

function byAge({ metadata: a }: KubeObject, { metadata: b }: KubeObject): number {
  const [ageA, ageB] = [a.creationTimestamp ?? '', b.creationTimestamp ?? ''];
  if (ageA !== ageB) return ageA < ageB ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

function isSandbox(pod: Pod): boolean {
  return pod.metadata.labels?.[labels.component] === 'sandbox';
}

function isCrowdedOut({ status }: AgentTask): boolean {
  return (
    status?.finished !== 'true' && status?.conditions?.some(({ type, reason }) => type === 'Accepted' && reason === 'QueueFull') === true
  );
}

export function isReady(pod: Pod | undefined): boolean {
  return pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

function lossOfWorker(key: string, pod: Pod | undefined, freshMs: number): string | undefined {
  if (pod === undefined) return `the worker pod ${key} is gone`;
  if (pod.metadata.deletionTimestamp !== undefined) return `the worker pod ${key} is being deleted`;
  return freshMs > 0 ? undefined : `the worker ${key} does not renew its Lease`;
}
