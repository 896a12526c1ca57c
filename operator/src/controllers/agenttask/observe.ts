import { byAge, keyOf, ResourceClient, type Transport } from '@agentfleet/kube';
import type { AgentTask, AgentTaskOrder, ExpertPool, RolloutStatus } from '@agentfleet/protocol/api';
import type { IsolationLevel } from '@agentfleet/protocol/keeper';
import { labels } from '@agentfleet/protocol/pool';
import { perNamespaceOf, poolLookup, resolvePool, type Resolution, isWorkerPod, templateAnnotation } from '../../pools/resolve.ts';
import { MadeSandboxes } from '../../pools/made.ts';
import type { Caches, OperatorConfig } from '../../runtime/context.ts';
import { type Pod, resources } from '../../runtime/resources.ts';
import { isTracked, usualTrackingLabels, warmIndex } from '../../runtime/caches.ts';
import { isolationFloor, capabilitiesOf, cordonedBy, sameAbility, type ClusterCapabilities } from './sandbox/capabilities.ts';
import { isClaimable } from './execute.ts';
import type { QuotaView } from './queue/quota.ts';
import type { DependencyView, Snapshot, StorageView, WorkerView } from './facts/snapshot.ts';
import type { SpendingView } from './queue/spending.ts';
import { type Ledger, Queues } from './queue/queues.ts';
import { openingsOf, sandboxState, Preparations } from './sandbox/state.ts';
import { type Bounds, type Turn, type Order, type QueueView, urgency } from './queue/poolQueue.ts';
import type { Heartbeats } from '../../runtime/heartbeats.ts';
import { isReady } from '../../serving/podTrouble.ts';
import { dependenciesOf, dependencyIndex } from '../../runtime/taskCensus.ts';

/** Inputs of an observer besides the caches. */
interface ObserverOptions {
  readonly caches: Caches;
  readonly config: OperatorConfig;
  /** Hash of what sandboxes of a pool are made from under a floor of isolation. */
  readonly templates: (pool: ExpertPool, floor: IsolationLevel) => string;
  readonly ledger: Ledger;
  readonly leases: Pick<Heartbeats, 'freshMs'>;
  /** Returns the entries about a task in the books of pools. */
  readonly spending: (task: AgentTask, pool: ExpertPool | undefined) => SpendingView | undefined;
  /** Returns the state of a task at Kueue; undefined: it has nothing to do with Kueue. */
  readonly quota: (task: AgentTask, pool: ExpertPool | undefined) => QuotaView | undefined;
  /** Returns the reason for which the API server does not let a namespace be prepared. */
  readonly unprepared: (namespace: string) => string | undefined;
  /** Of tasks of one namespace. */
  readonly order: Order<Turn>;
}

/** Results of an earlier decision about the same look. */
export interface Hindrances {
  /** Reason for which the API server refused the sandbox. */
  readonly refusal: string | undefined;
  /** Uids of waiting sandboxes that another task took first. */
  readonly taken: ReadonlySet<string>;
}

/** Objects that were read from the API server because no cache has them. */
export interface Live {
  readonly storage?: StorageView | undefined;
  readonly dependencies?: DependencyView | undefined;
  /** Newest warning of the kubelet about the sandbox that it prepares. */
  readonly note?: string | undefined;
}

/** The queue of a task that no pool takes. */
const alone: QueueView = { running: 0, runningInNamespace: 0, waiting: 0, ahead: 0, takers: 0, stranded: 0 };

/** Reads the caches: no I/O, no decisions. */
export class Observer {
  readonly #options: ObserverOptions;
  readonly #preparations: Preparations;
  readonly #queues: Queues;
  readonly #made: MadeSandboxes;
  /** Undefined: something changed. */
  #capabilities: ClusterCapabilities | undefined;

  constructor(options: ObserverOptions) {
    this.#options = options;
    this.#preparations = new Preparations(options.caches);
    this.#made = new MadeSandboxes(options.caches.configMaps, options.config.namespace);
    this.#queues = new Queues(options.caches, options.config, options.ledger, options.order);
    const change = (): void => void (this.#capabilities = undefined);
    const { nodes, runtimeClasses, namespaces } = options.caches;
    nodes.addHandler({ onAdd: change, onUpdate: (old, node) => (sameAbility(old, node) ? undefined : change()), onDelete: change });
    for (const cache of [runtimeClasses, namespaces]) cache.addHandler({ onAdd: change, onUpdate: change, onDelete: change });
  }

  /** Everything that a decision about the task looks at, as of this moment. */
  snapshot(task: AgentTask, sinceWriteMs: number, hindrances: Hindrances, live: Live): Snapshot {
    const { caches, config } = this.#options;
    const resolution = this.resolve(task);
    const orders = this.#orders(task);
    const pods = this.sandboxes(keyOf(task));
    const { pool } = resolution;
    const judges = pool === undefined ? undefined : this.#judges(pool);
    const spending = this.#options.spending(task, pool);
    const quota = this.#options.quota(task, pool);
    const unprepared = this.#options.unprepared(task.metadata.namespace ?? '');
    return {
      task,
      tracked: isTracked(task, config.trackingLabels ?? usualTrackingLabels),
      awaited: caches.tasks.lister.byIndex(dependencyIndex, keyOf(task)).length > 0,
      resolution,
      ...(judges === undefined ? {} : { judges }),
      registriesListed: config.egress.registries.length > 0,
      openings: openingsOf(caches.networkPolicies.lister.list({ namespace: task.metadata.namespace ?? '' }), { task, pool, pods }),
      capabilities: this.capabilities(),
      prepared: pool !== undefined && this.#preparations.of(pool)(task.metadata.namespace ?? ''),
      pods,
      warm: pool === undefined || pods.length > 0 ? [] : this.#warm(task, pool, hindrances.taken),
      workers: pool === undefined ? [] : this.#workers(pool, task),
      assigned: this.#assigned(task),
      queue: pool === undefined ? alone : this.#queue(pool, task),
      cancelOrder: orders.find(({ spec }) => spec.type === 'Cancel')?.metadata.name,
      answers: orders.filter(({ spec }) => spec.type !== 'Cancel' && spec.type !== 'Message'),
      messages: orders.filter(({ spec }) => spec.type === 'Message'),
      refusal: hindrances.refusal,
      storage: live.storage,
      ...(spending === undefined ? {} : { spending }),
      ...(quota === undefined ? {} : { quota }),
      ...(unprepared === undefined ? {} : { unprepared }),
      dependencies: live.dependencies,
      ...(live.note === undefined ? {} : { note: live.note }),
      sinceWriteMs,
    };
  }

  /** Returns the nodes and runtimes that the cluster can run sandboxes on now. */
  capabilities(): ClusterCapabilities {
    return (this.#capabilities ??= capabilitiesOf(this.#options.caches));
  }

  resolve(task: AgentTask): Resolution {
    return resolvePool(task, poolLookup(this.#options.caches, this.#options.config));
  }

  /** Keys of the tasks to look at when slots of the pool become free, in their turn; also of those that found no place in the queue. */
  next(pool: ExpertPool, slots: number): readonly string[] {
    const queue = this.#queues.of(keyOf(pool));
    const places = pool.spec.limits?.maxQueued === undefined ? 0 : slots;
    return [...queue.next(slots, this.#bounds(pool)), ...queue.nextCrowdedOut(places)];
  }

  /** Slots that tasks of the pool could take now. */
  freeSlots(pool: ExpertPool): number {
    const { workers, limits } = pool.spec;
    const free = this.#workers(pool, undefined).map(({ ready, load }) => (ready ? Math.max(0, workers.concurrency - load) : 0));
    const room = (limits?.maxRunning ?? Infinity) - this.#queues.of(keyOf(pool)).running;
    return Math.max(
      0,
      Math.min(
        room,
        free.reduce((sum, slots) => sum + slots, 0),
      ),
    );
  }

  /** Sandbox pods of the task of this name, whether it exists or not. */
  sandboxes(key: string): readonly Pod[] {
    const pods = this.#options.caches.pods.lister.byIndex('task', key);
    return pods.filter(({ metadata }) => metadata.labels?.[labels.component] === 'sandbox');
  }

  /** Returns the state of the rollout of the pool's verifier. */
  #judges({ metadata, spec }: ExpertPool): RolloutStatus | undefined {
    const { name } = spec.energyModelRef ?? {};
    if (name === undefined) return undefined;
    const model = this.#options.caches.energyModels.lister.get(`${metadata.namespace ?? ''}/${name}`);
    return model?.metadata.deletionTimestamp === undefined ? model?.status?.rollout : undefined;
  }

  /** Sandboxes that wait ready in the namespace of the task and are what its own would be, those of cordoned nodes last. */
  #warm(task: AgentTask, pool: ExpertPool, excluded: ReadonlySet<string>): readonly Pod[] {
    const { caches, ledger, templates } = this.#options;
    const { namespace } = task.metadata;
    if (task.spec.sandbox !== undefined) return [];
    const waiting = caches.pods.lister
      .byIndex(warmIndex, keyOf(pool))
      .filter((pod) => this.#made.has(keyOf(pool), pod))
      .filter((pod) => pod.metadata.namespace === namespace && isClaimable(pod) && sandboxState(pod, false).ready)
      .filter(({ metadata: { uid = '' } }) => !excluded.has(uid) && !ledger.isSpokenFor(uid));
    if (waiting.length === 0) return [];
    const template = templates(pool, isolationFloor({ task }, pool));
    const isCordoned = cordonedBy(caches);
    return waiting
      .filter(({ metadata }) => metadata.annotations?.[templateAnnotation] === template)
      .sort((a, b) => Number(isCordoned(a)) - Number(isCordoned(b)) || byAge(a, b));
  }

  #bounds(pool: ExpertPool): Bounds {
    const prepared = this.#preparations.of(pool);
    return {
      perNamespace: perNamespaceOf(pool),
      blocked: (namespace) => !prepared(namespace),
      isLost: (worker) => this.#loss(worker) !== undefined,
    };
  }

  #queue(pool: ExpertPool, task: AgentTask): QueueView {
    const [key, home] = [keyOf(task), keyOf(pool)];
    const { namespace = '', creationTimestamp: created = '' } = task.metadata;
    const own = { key, namespace, priority: urgency(task), created };
    return this.#queues.of(home).view(own, this.#queues.place(key, home), this.#bounds(pool));
  }

  /** The workers of a pool; `own` is not counted in what they have to do. */
  #workers(pool: ExpertPool, own: AgentTask | undefined): readonly WorkerView[] {
    const home = keyOf(pool);
    const queue = this.#queues.of(home);
    const held = own === undefined ? undefined : this.#queues.place(keyOf(own), home)?.worker;
    return this.#options.caches.pods.lister
      .byIndex('pool', home)
      .filter(isWorkerPod)
      .map((pod) => {
        const load = queue.load(keyOf(pod)) - (held === keyOf(pod) ? 1 : 0);
        return this.#view(pod.metadata.namespace ?? '', pod.metadata.name, pod, load);
      });
  }

  #assigned({ status }: AgentTask): WorkerView | undefined {
    const { worker, workerNamespace } = status?.assignment ?? {};
    if (worker === undefined || workerNamespace === undefined) return undefined;
    return this.#view(workerNamespace, worker, this.#options.caches.pods.lister.get(`${workerNamespace}/${worker}`), 0);
  }

  #view(namespace: string, name: string, pod: Pod | undefined, load: number): WorkerView {
    const lost = this.#loss(`${namespace}/${name}`, pod);
    return { name, namespace, lost, load, ready: lost === undefined && pod !== undefined && isReady(pod) };
  }

  /** Returns the reason for which a worker is lost, in words; undefined while it lives. */
  #loss(key: string, pod = this.#options.caches.pods.lister.get(key)): string | undefined {
    if (pod === undefined) return `the worker pod ${key} is gone`;
    if (pod.metadata.deletionTimestamp !== undefined) return `the worker pod ${key} is being deleted`;
    return this.#options.leases.freshMs(key) > 0 ? undefined : `the worker ${key} does not renew its Lease`;
  }

  /** Orders that stand, the oldest first. One for an earlier task of this name is none for this one. */
  #orders(task: AgentTask): readonly AgentTaskOrder[] {
    const { namespace = '', name, creationTimestamp = '' } = task.metadata;
    const stands = ({ spec, status, metadata }: AgentTaskOrder): boolean =>
      spec.taskRef?.name === name &&
      status?.state !== 'Refused' &&
      (spec.type === 'Cancel' || status?.state !== 'Done') &&
      (metadata.creationTimestamp ?? '') >= creationTimestamp &&
      (metadata.ownerReferences ?? []).every((owner) => owner.kind !== 'AgentTask' || owner.uid === task.metadata.uid);
    return this.#options.caches.orders.lister.byIndex('task', `${namespace}/${name}`).filter(stands).sort(byAge);
  }
}

/** Tasks on one path, and in all, that are followed: what lies beyond is not looked at for a cycle. Each of a namespace's tasks asks. */
const mostFollowed = { path: 256, tasks: 1024 } as const;

/**
 * Reads what became of dependencies. Those that have not ended are in the cache; the others are read one by one, as no
 * cache holds them. One that a person deleted after it succeeded is missing: no object records its success any more.
 */
export class Dependencies {
  readonly #caches: Pick<Caches, 'tasks'>;
  readonly #client: ResourceClient<AgentTask>;

  constructor(transport: Transport, caches: Pick<Caches, 'tasks'>) {
    this.#caches = caches;
    this.#client = new ResourceClient(transport, resources.agentTasks);
  }

  /** Undefined for a task that depends on nothing, or has begun. */
  async view(task: AgentTask, signal: AbortSignal): Promise<DependencyView | undefined> {
    const keys = dependenciesOf(task);
    if (keys.length === 0) return undefined;
    const found = await Promise.all(keys.map((key) => this.#read(key, signal)));
    const names = keys.map((key) => key.slice(key.indexOf('/') + 1));
    const which = (holds: (other: AgentTask | undefined) => boolean): readonly string[] => names.filter((_, index) => holds(found[index]));
    return {
      pending: which((other) => other !== undefined && other.status?.finished !== 'true'),
      missing: which((other) => other === undefined),
      failed: found.flatMap((other) => {
        const { phase = 'Failed', finished } = other?.status ?? {};
        return other === undefined || finished !== 'true' || phase === 'Succeeded' ? [] : [{ name: other.metadata.name, phase }];
      }),
      cycle: this.#cycle(task),
    };
  }

  async #read(key: string, signal: AbortSignal): Promise<AgentTask | undefined> {
    const cached = this.#caches.tasks.lister.get(key);
    if (cached !== undefined) return cached;
    const [namespace = '', name = ''] = key.split('/');
    return this.#client.find({ namespace, name }, { signal });
  }

  /** Follows dependencies in the cache until one is the task itself. Breadth first: the shortest way is reported. */
  #cycle(task: AgentTask): readonly string[] | undefined {
    const goal = keyOf(task);
    const ways = new Map<string, readonly string[]>([[goal, [task.metadata.name]]]);
    const queue = [task];
    for (const at of queue) {
      const way = ways.get(keyOf(at)) ?? [];
      for (const key of dependenciesOf(at)) {
        const name = key.slice(key.indexOf('/') + 1);
        if (key === goal) return [...way, name];
        const next = this.#caches.tasks.lister.get(key);
        if (next === undefined || ways.has(key) || way.length >= mostFollowed.path) continue;
        if (ways.size >= mostFollowed.tasks) return undefined;
        ways.set(key, [...way, name]);
        queue.push(next);
      }
    }
    return undefined;
  }
}
