import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { anyDefault, namedPool, poolIndex, poolLookup } from '../../pools/lookup.ts';
import { allows, resolvePool, type PoolLookup } from '../../pools/resolve.ts';
import type { Caches } from '../../runtime/context.ts';
import { homeOf } from './manifests/manifest.ts';

type TenancyCaches = Pick<Caches, 'tasks' | 'pools' | 'pods' | 'namespaces'>;

/** Key of a pool in caches. */
export function poolKey(pool: ExpertPool): string {
  return `${homeOf(pool)}/${pool.metadata.name}`;
}

/** Which pool a task belongs to, over the caches of one moment. */
export class Tenancy {
  readonly #caches: TenancyCaches;
  readonly #lookup: PoolLookup;

  constructor(caches: TenancyCaches) {
    this.#caches = caches;
    this.#lookup = poolLookup(caches);
  }

  /**
   * The pool whose workers need to reach the task: the one that it resolves to, or, while it runs, the one whose worker
   * runs it; a pool that stops to allow a namespace must not take a running task's worker away.
   */
  poolOf(task: AgentTask): ExpertPool | undefined {
    return this.#runningIn(task) ?? resolvePool(task, this.#lookup).pool;
  }

  /** Tasks of a pool; those that name another one are not even looked at. */
  tasksOf(pool: ExpertPool): readonly AgentTask[] {
    const { lister } = this.#caches.tasks;
    const key = poolKey(pool);
    // A running task without a name stays when its pool stops to be the default.
    const named = lister.byIndex(poolIndex, key);
    return [...named, ...lister.byIndex(poolIndex, anyDefault)].filter((task) => {
      const found = this.poolOf(task);
      return found !== undefined && poolKey(found) === key;
    });
  }

  /** Namespaces whose tasks the workers of a pool run, sorted. The own one is there from the start when it is the only one. */
  namespacesOf(pool: ExpertPool): readonly string[] {
    const found = new Set(this.tasksOf(pool).map(({ metadata }) => metadata.namespace ?? ''));
    if (pool.spec.allowedNamespaces.from === 'Same') found.add(homeOf(pool));
    for (const { namespace } of pool.spec.sandbox.warm ?? []) if (this.#warms(pool, namespace)) found.add(namespace);
    return [...found].sort();
  }

  /** Whether sandboxes of the pool are to wait in a namespace: what they need is there before the first task. */
  #warms(pool: ExpertPool, name: string): boolean {
    const asked = pool.spec.sandbox.warm?.some(({ namespace, replicas }) => namespace === name && replicas > 0) === true;
    const namespace = this.#lookup.namespace(name);
    return asked && pool.metadata.deletionTimestamp === undefined && namespace !== undefined && allows(pool, namespace);
  }

  /** Pools whose workers run tasks of a namespace, sorted by their keys. */
  poolsIn(namespace: string): readonly ExpertPool[] {
    const found = new Map<string, ExpertPool>();
    for (const task of this.#caches.tasks.lister.list({ namespace })) {
      const pool = this.poolOf(task);
      if (pool !== undefined) found.set(poolKey(pool), pool);
    }
    for (const pool of this.#caches.pools.lister.list({ namespace })) {
      const alone = pool.spec.allowedNamespaces.from === 'Same' && pool.metadata.deletionTimestamp === undefined;
      if (alone) found.set(poolKey(pool), pool);
    }
    for (const pool of this.#caches.pools.lister.values()) if (this.#warms(pool, namespace)) found.set(poolKey(pool), pool);
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pool]) => pool);
  }

  #runningIn(task: AgentTask): ExpertPool | undefined {
    const { assignment, finished } = task.status ?? {};
    if (assignment === undefined || finished === 'true') return undefined;
    const { worker, workerNamespace } = assignment;
    const name = this.#caches.pods.lister.get(`${workerNamespace}/${worker}`)?.metadata.labels?.[labels.pool];
    if (name !== undefined) return this.#caches.pools.lister.get(`${workerNamespace}/${name}`);
    // The worker is gone, and the next one will be of the pool that the task names.
    const named = namedPool(task);
    return named === anyDefault ? undefined : this.#caches.pools.lister.get(named);
  }
}
