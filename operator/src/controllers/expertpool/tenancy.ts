import { keyOf } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { poolLookup, mayWarm, resolvePoolRef, type PoolLookup } from '../../pools/resolve.ts';
import { templateRights, type MissingGrant, type ReachConfig } from '../../pools/consent.ts';
import type { Caches } from '../../runtime/context.ts';
import type { TaskGroup, TaskTraits } from '../../runtime/taskCensus.ts';
import { homeOf } from '../../operands/manifest.ts';

type TenancyCaches = Pick<Caches, 'census' | 'pools' | 'poolGrants' | 'pods' | 'namespaces'>;

/** Lookup of the pool that a task belongs to, over the caches of one moment. */
export class Tenancy {
  readonly #caches: TenancyCaches;
  readonly #lookup: PoolLookup;

  constructor(caches: TenancyCaches, config: ReachConfig) {
    this.#caches = caches;
    this.#lookup = poolLookup(caches, config);
  }

  /**
   * The pool whose workers need to reach these tasks: the one that they resolve to, or, while they run, the one whose
   * worker runs them; a pool that stops to allow a namespace must not take a running task's worker away.
   */
  poolOf(group: TaskTraits): ExpertPool | undefined {
    return this.#runningIn(group) ?? resolvePoolRef(group.namespace, group.poolRef, this.#lookup).pool;
  }

  /** The tasks of a pool, by what they are alike in. */
  tasksOf(pool: ExpertPool): readonly TaskGroup[] {
    const key = keyOf(pool);
    return [...this.#caches.census.groups()].filter((group) => {
      const found = this.poolOf(group);
      return found !== undefined && keyOf(found) === key;
    });
  }

  /** Namespaces whose tasks the workers of a pool run, sorted. The own one is there from the start when it is the only one. */
  namespacesOf(pool: ExpertPool): readonly string[] {
    const found = new Set(this.tasksOf(pool).map(({ namespace }) => namespace));
    if (pool.spec.allowedNamespaces.from === 'Same') found.add(homeOf(pool));
    for (const { namespace } of pool.spec.sandbox.warm ?? []) if (this.#warms(pool, namespace)) found.add(namespace);
    return [...found].sort();
  }

  /** Reports whether sandboxes of the pool are to wait in a namespace: the objects that they need are there before the first task. */
  #warms(pool: ExpertPool, name: string): boolean {
    const asked = pool.spec.sandbox.warm?.some(({ namespace, replicas }) => namespace === name && replicas > 0) === true;
    return asked && pool.metadata.deletionTimestamp === undefined && mayWarm(pool, name, this.#lookup);
  }

  /** Grants without which sandboxes of the pool do not wait where it asks for them. */
  missingGrants(pool: ExpertPool): readonly MissingGrant[] {
    const asked = (pool.spec.sandbox.warm ?? []).filter(({ replicas }) => replicas > 0);
    return asked.flatMap(({ namespace }) => {
      const rights = this.#lookup.consents.missing(pool, namespace, ['Warm', ...templateRights(pool)]);
      return rights.length === 0 ? [] : [{ namespace, rights }];
    });
  }

  /** Pools whose workers run tasks of a namespace, sorted by their keys. */
  poolsIn(namespace: string): readonly ExpertPool[] {
    const found = new Map<string, ExpertPool>();
    for (const group of this.#caches.census.groups(namespace)) {
      const pool = this.poolOf(group);
      if (pool !== undefined) found.set(keyOf(pool), pool);
    }
    for (const pool of this.#caches.pools.lister.list({ namespace })) {
      const alone = pool.spec.allowedNamespaces.from === 'Same' && pool.metadata.deletionTimestamp === undefined;
      if (alone) found.set(keyOf(pool), pool);
    }
    for (const pool of this.#caches.pools.lister.values()) if (this.#warms(pool, namespace)) found.set(keyOf(pool), pool);
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pool]) => pool);
  }

  #runningIn({ namespace, poolRef, worker }: TaskTraits): ExpertPool | undefined {
    if (worker === undefined) return undefined;
    const pod = this.#caches.pods.lister.get(worker);
    const name = pod?.metadata.labels?.[labels.pool];
    if (name !== undefined) return this.#caches.pools.lister.get(`${pod?.metadata.namespace ?? ''}/${name}`);
    // The worker is gone, and the next one will be of the pool that the task names.
    return poolRef === undefined ? undefined : this.#caches.pools.lister.get(`${poolRef.namespace ?? namespace}/${poolRef.name}`);
  }
}
