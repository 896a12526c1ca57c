import type { Lister } from '@agentfleet/kube';
import type { AgentTask, ExpertPool, PoolGrant } from '@agentfleet/protocol/api';
import type { Namespace } from '../runtime/objects.ts';
import { Consents, type ReachConfig } from './consent.ts';
import type { PoolLookup } from './resolve.ts';

/** Index of tasks by the pool that they name. */
export const poolIndex = 'pool';

/** Value of the index for tasks that name no pool. */
export const anyDefault = 'default';

/** `namespace/name` of the pool that a task names, or `default`. */
export function namedPool(task: AgentTask): string {
  const { poolRef } = task.spec;
  return poolRef === undefined ? anyDefault : `${poolRef.namespace ?? task.metadata.namespace ?? ''}/${poolRef.name}`;
}

/** The caches that tell which pool a task belongs to. */
export interface PoolCaches {
  readonly pools: { readonly lister: Lister<ExpertPool> };
  readonly poolGrants: { readonly lister: Lister<PoolGrant> };
  readonly namespaces: { readonly lister: Lister<Namespace> };
}

/** A lookup over the caches. It remembers the default pools, so it lives for one look only. */
export function poolLookup(caches: PoolCaches, config: ReachConfig): PoolLookup {
  let defaults: readonly ExpertPool[] | undefined;
  return {
    pool: (namespace, name) => caches.pools.lister.get(`${namespace}/${name}`),
    defaultPools: () => (defaults ??= caches.pools.lister.list().filter((pool) => pool.spec.default)),
    namespace: (name) => caches.namespaces.lister.get(name),
    consents: new Consents(config, caches.poolGrants.lister),
  };
}
