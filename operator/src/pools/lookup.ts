import type { Lister } from '@agentfleet/kube';
import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import type { Namespace } from '../runtime/objects.ts';
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

/** A lookup over the caches. It remembers the default pools, so it lives for one look only. */
export function poolLookup(caches: {
  readonly pools: { readonly lister: Lister<ExpertPool> };
  readonly namespaces: { readonly lister: Lister<Namespace> };
}): PoolLookup {
  let defaults: readonly ExpertPool[] | undefined;
  return {
    pool: (namespace, name) => caches.pools.lister.get(`${namespace}/${name}`),
    defaultPools: () => (defaults ??= caches.pools.lister.list().filter((pool) => pool.spec.default)),
    namespace: (name) => caches.namespaces.lister.get(name),
  };
}
