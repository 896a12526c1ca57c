import { keyOf, labelsChanged } from '@agentfleet/kube';
import type { AgentTask, ExpertPool, PoolGrant } from '@agentfleet/protocol/api';
import { poolLookup, resolvePool, type PoolLookup } from '../../../pools/resolve.ts';
import type { ReachConfig } from '../../../pools/consent.ts';
import type { Caches } from '../../../runtime/context.ts';
import type { Namespace } from '../../../runtime/resources.ts';
import { byTurn, PoolQueue, type Place, type Turn, isCrowdedOut, type Order, type Standing, standing, urgency } from './poolQueue.ts';
import { anyDefault, namedPool, poolIndex } from '../../../runtime/caches.ts';

interface Found extends Place {
  readonly pool: string;
}

/** Caches that decide which pool a task waits for. */
type QueueCaches = Pick<Caches, 'tasks' | 'pools' | 'poolGrants' | 'namespaces'>;

const nobody = new PoolQueue();

/**
 * The queues of all pools, kept at every change of a task and of what is assumed of it: who is next is never found by
 * looking at all tasks. Made before anything else that listens to the caches, so that it is up to date when they do.
 */
export class Queues {
  readonly #caches: QueueCaches;
  readonly #reach: ReachConfig;
  readonly #ledger: Ledger;
  readonly #order: Order<Turn>;
  readonly #places = new Map<string, Found>();
  readonly #queues = new Map<string, PoolQueue>();
  /** Made again when a pool changes. */
  #lookup: PoolLookup;

  constructor(caches: QueueCaches, reach: ReachConfig, ledger: Ledger, order: Order<Turn> = byTurn) {
    this.#caches = caches;
    this.#reach = reach;
    this.#order = order;
    this.#ledger = ledger;
    this.#lookup = poolLookup(caches, reach);
    ledger.onChange((key) => this.#look(key));
    this.#followPools();
    this.#followTasks();
  }

  /** The queue of a pool by its `namespace/name`. */
  of(pool: string): PoolQueue {
    return this.#queues.get(pool) ?? nobody;
  }

  /** Returns the task as the queue of this pool knows it. */
  place(key: string, pool: string): Place | undefined {
    const found = this.#places.get(key);
    return found?.pool === pool ? found : undefined;
  }

  #followTasks(): void {
    const put = (task: AgentTask): void => {
      this.#ledger.shown(task);
      this.#put(task);
    };
    this.#caches.tasks.addHandler({
      onAdd: put,
      onUpdate: (_, task) => put(task),
      onDelete: (task) => {
        this.#ledger.forget(keyOf(task));
        this.#remove(keyOf(task));
      },
    });
  }

  /** Follows pools: tasks that name none may get another one. */
  #followPools(): void {
    const { tasks, pools, poolGrants, namespaces } = this.#caches;
    const changed = (...versions: readonly ExpertPool[]): void => {
      this.#lookup = poolLookup(this.#caches, this.#reach);
      if (versions.some(({ spec }) => spec.default)) for (const task of tasks.lister.byIndex(poolIndex, anyDefault)) this.#put(task);
    };
    pools.addHandler({
      onAdd: (pool) => changed(pool),
      onUpdate: (old, pool) => (sameChoice(old, pool) ? undefined : changed(old, pool)),
      onDelete: (pool) => changed(pool),
    });
    const moveIn = (namespace: string): void => {
      for (const task of tasks.lister.byIndex('namespace', namespace)) if (namedPool(task) === anyDefault) this.#put(task);
    };
    const moved = ({ metadata: { name } }: Namespace): void => moveIn(name);
    const consented = ({ metadata: { namespace = '' } }: PoolGrant): void => moveIn(namespace);
    poolGrants.addHandler({ onAdd: consented, onUpdate: (_, grant) => consented(grant), onDelete: consented });
    namespaces.addHandler({
      onAdd: moved,
      onUpdate: (old, namespace) => (labelsChanged({ type: 'update', old, object: namespace }) ? moved(namespace) : undefined),
      onDelete: moved,
    });
  }

  #look(key: string): void {
    const task = this.#caches.tasks.lister.get(key);
    if (task !== undefined) this.#put(task);
  }

  #put(task: AgentTask): void {
    const key = keyOf(task);
    const [old, found] = [this.#places.get(key), this.#find(key, task)];
    if (old !== undefined && found !== undefined && same(old, found)) return;
    this.#remove(key);
    if (found === undefined) return;
    this.#places.set(key, found);
    let queue = this.#queues.get(found.pool);
    if (queue === undefined) this.#queues.set(found.pool, (queue = new PoolQueue(this.#order)));
    queue.add(found);
  }

  #remove(key: string): void {
    const found = this.#places.get(key);
    if (found === undefined) return;
    this.#places.delete(key);
    const queue = this.#queues.get(found.pool);
    queue?.remove(found);
    if (queue?.empty === true) this.#queues.delete(found.pool);
  }

  #find(key: string, task: AgentTask): Found | undefined {
    const standing = this.#ledger.standing(task);
    const crowdedOut = isCrowdedOut(task);
    if (standing === 'Elsewhere' && !crowdedOut) return undefined;
    const pool = this.#poolOf(task);
    if (pool === undefined) return undefined;
    const { namespace = '', creationTimestamp: created = '' } = task.metadata;
    const worker = standing === 'Running' ? this.#ledger.worker(task) : undefined;
    return { key, pool, namespace, priority: urgency(task), created, standing, worker, crowdedOut };
  }

  #poolOf(task: AgentTask): string | undefined {
    const named = namedPool(task);
    if (named !== anyDefault) return named;
    const { pool } = resolvePool(task, this.#lookup);
    return pool === undefined ? undefined : keyOf(pool);
  }
}

function same(a: Found, b: Found): boolean {
  return (
    a.standing === b.standing &&
    a.worker === b.worker &&
    a.crowdedOut === b.crowdedOut &&
    a.priority === b.priority &&
    a.pool === b.pool &&
    a.created === b.created
  );
}

/** Reports whether tasks that name no pool find it as before. */
function sameChoice(a: ExpertPool, b: ExpertPool): boolean {
  return a.metadata.generation === b.metadata.generation && a.metadata.deletionTimestamp === b.metadata.deletionTimestamp;
}

/** A decision that the cache does not show yet; `invalid`: it never will, as the status does not fit. */
type Assumed =
  | { readonly kind: 'slot'; readonly worker: string; readonly workerNamespace: string; readonly sandbox: string | undefined }
  | { readonly kind: 'queued' }
  | { readonly kind: 'invalid' };

type Noted = Assumed & { readonly uid: string | undefined };

/**
 * Decisions on their way to the cache, as kube-scheduler assumes its bindings: reading the caches, deciding and noting
 * the decision here happen without a pause in between, so that no two tasks take the same last slot.
 */
export class Ledger {
  readonly #assumed = new Map<string, Noted>();
  /** Uids of waiting sandboxes that a task is about to take. */
  readonly #spokenFor = new Map<string, number>();
  readonly #listeners = new Set<(key: string) => void>();

  /** Calls `listener` with the key of each task about which another thing is assumed now. */
  onChange(listener: (key: string) => void): void {
    this.#listeners.add(listener);
  }

  assume(task: AgentTask, assumed: Assumed): void {
    const key = keyOf(task);
    this.#drop(key);
    this.#assumed.set(key, { ...assumed, uid: task.metadata.uid });
    if (assumed.kind === 'slot' && assumed.sandbox !== undefined) this.#speak(assumed.sandbox, 1);
    this.#tell(key);
  }

  /** The next look at the task reads what was written; what was assumed before it is void. */
  forget(key: string): void {
    if (this.#drop(key)) this.#tell(key);
  }

  /** Forgets what the cache shows by now, so that what is kept is no more than what is on its way. */
  shown(task: AgentTask): void {
    const key = keyOf(task);
    if (this.#assumed.get(key)?.kind === 'queued' && standing(task) !== 'New') this.#drop(key);
  }

  standing(task: AgentTask): Standing {
    const assumed = this.#of(task);
    if (assumed?.kind === 'slot') return 'Running';
    const shown = standing(task);
    // A task that cannot begin would keep a slot from those behind it permanently.
    if (assumed?.kind === 'invalid') return shown === 'Running' ? shown : 'Elsewhere';
    return assumed?.kind === 'queued' && shown === 'New' ? 'Queued' : shown;
  }

  /** `namespace/name` of the worker whose slot the task holds. */
  worker(task: AgentTask): string | undefined {
    const of = this.#of(task);
    const held = of?.kind === 'slot' ? of : task.status?.assignment;
    return held === undefined ? undefined : `${held.workerNamespace}/${held.worker}`;
  }

  /** Keys of tasks that are on their way to a worker. */
  onTheirWayTo(worker: string): readonly string[] {
    return [...this.#assumed]
      .filter(([, noted]) => noted.kind === 'slot' && `${noted.workerNamespace}/${noted.worker}` === worker)
      .map(([key]) => key);
  }

  /** Reports whether another task is about to take the waiting sandbox of this uid. */
  isSpokenFor(sandbox: string): boolean {
    return this.#spokenFor.has(sandbox);
  }

  get size(): number {
    return this.#assumed.size;
  }

  #drop(key: string): boolean {
    const assumed = this.#assumed.get(key);
    if (assumed === undefined) return false;
    if (assumed.kind === 'slot' && assumed.sandbox !== undefined) this.#speak(assumed.sandbox, -1);
    return this.#assumed.delete(key);
  }

  #speak(sandbox: string, change: 1 | -1): void {
    const count = (this.#spokenFor.get(sandbox) ?? 0) + change;
    if (count === 0) this.#spokenFor.delete(sandbox);
    else this.#spokenFor.set(sandbox, count);
  }

  #tell(key: string): void {
    for (const listener of this.#listeners) listener(key);
  }

  #of(task: AgentTask): Noted | undefined {
    const assumed = this.#assumed.size === 0 ? undefined : this.#assumed.get(keyOf(task));
    return assumed !== undefined && assumed.uid === task.metadata.uid ? assumed : undefined;
  }
}
