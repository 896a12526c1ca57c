import { keyOf, type Clock } from '@agentfleet/kube';
import type { AgentTask, AgentTaskOrder, ExpertPool } from '@agentfleet/protocol/api';
import { briefKey, labels } from '@agentfleet/protocol/pool';
import { briefName } from '../../pools/names.ts';
import { anyDefault, poolIndex, poolLookup } from '../../pools/lookup.ts';
import { resolvePool, type Resolution } from '../../pools/resolve.ts';
import type { Caches } from '../../runtime/context.ts';
import type { ConfigMap, Pod } from '../../runtime/objects.ts';
import type { Ledger } from './ledger.ts';
import { jwksConfigMap } from './names.ts';
import { byTurn, nextInTurn, queueView } from './queue.ts';
import type { Snapshot, WorkerView } from './snapshot.ts';
import type { WorkerLeases } from './workerLeases.ts';

/** What an observer reads besides the caches. */
export interface ObserverOptions {
  readonly caches: Caches;
  readonly clock: Clock;
  /** Whether the platform lists hosts for set-up steps with network Registries. */
  readonly registriesListed: boolean;
  readonly ledger: Ledger;
  readonly leases: Pick<WorkerLeases, 'freshMs'>;
}

/** Reads the caches: no I/O, no decisions. */
export class Observer {
  readonly #options: ObserverOptions;
  readonly #briefs = new WeakMap<ConfigMap, ReadonlySet<string>>();

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  /** Everything that a decision about the task looks at, as of this moment. */
  snapshot(task: AgentTask, sinceWriteMs: number, refusal?: string): Snapshot {
    const { caches } = this.#options;
    const resolution = this.resolve(task);
    const orders = this.#orders(task);
    const { pool } = resolution;
    const tasks = pool === undefined ? [] : this.tasksOf(pool);
    const blocked = (namespace: string): boolean => pool === undefined || !this.#prepared(pool, namespace);
    const { maxRunning = Infinity, perNamespace = Infinity } = pool?.spec.limits ?? {};
    return {
      task,
      resolution,
      registriesListed: this.#options.registriesListed,
      prepared: !blocked(task.metadata.namespace ?? ''),
      pods: caches.pods.lister.byIndex('task', keyOf(task)).filter(isSandbox),
      workers: pool === undefined ? [] : this.#workers(pool, tasks, task),
      assigned: this.#assigned(task),
      queue: queueView(task, tasks, { maxRunning, perNamespace }, (other) => this.#options.ledger.standing(other), blocked),
      cancelOrder: orders.find(({ spec }) => spec.type === 'Cancel')?.metadata.name,
      answers: orders.filter(({ spec }) => spec.type !== 'Cancel'),
      refusal,
      sinceWriteMs,
    };
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
    const blocked = (namespace: string): boolean => (used.get(namespace) ?? 0) >= perNamespace || !this.#prepared(pool, namespace);
    const refused = maxQueued === undefined ? [] : tasks.filter(isCrowdedOut).sort(byTurn).slice(0, slots);
    const waiting = nextInTurn(tasks, slots, blocked).filter((task) => this.#options.ledger.standing(task) !== 'Running');
    return [...waiting, ...refused].map((task) => keyOf(task));
  }

  /** Sandbox pods of the task of this name, whether it exists or not. */
  sandboxes(key: string): readonly Pod[] {
    return this.#options.caches.pods.lister.byIndex('task', key).filter(isSandbox);
  }

  /** Whether the pool's controller has made ready what sandboxes and workers need in the namespace. */
  #prepared(pool: ExpertPool, namespace: string): boolean {
    const { lister } = this.#options.caches.configMaps;
    const brief = lister.get(`${pool.metadata.namespace ?? ''}/${briefName(pool.metadata.name)}`);
    if (brief === undefined || lister.get(`${namespace}/${jwksConfigMap}`) === undefined) return false;
    const known = this.#briefs.get(brief) ?? namespacesOf(brief);
    this.#briefs.set(brief, known);
    return known.has(namespace);
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

function byAge({ metadata: a }: AgentTaskOrder, { metadata: b }: AgentTaskOrder): number {
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

/** A brief that cannot be read names no namespace: its pool's controller will write it again. */
function namespacesOf({ data }: ConfigMap): ReadonlySet<string> {
  try {
    const { namespaces } = JSON.parse(data?.[briefKey] ?? '{}') as { readonly namespaces?: readonly string[] };
    return new Set(namespaces);
  } catch {
    return new Set();
  }
}
