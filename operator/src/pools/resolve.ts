import { labelMatcher } from '@agentfleet/kube';
import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import type { Namespace } from '../runtime/objects.ts';

/** Reads of the caches that tell which pool a task belongs to. */
export interface PoolLookup {
  pool(namespace: string, name: string): ExpertPool | undefined;
  defaultPools(): readonly ExpertPool[];
  namespace(name: string): Namespace | undefined;
}

/** The pool of a task, or why it has none: a reason and a message for the condition `Accepted`. */
export type Resolution =
  | { readonly pool: ExpertPool }
  | {
      readonly pool?: undefined;
      readonly reason: 'PoolNotFound' | 'NamespaceNotAllowed' | 'NoDefaultPool' | 'AmbiguousDefaultPool';
      readonly message: string;
    };

/** Whether the pool takes tasks of this namespace. */
export function allows(pool: ExpertPool, namespace: Namespace): boolean {
  const { from, selector } = pool.spec.allowedNamespaces;
  if (pool.metadata.namespace === namespace.metadata.name && from !== 'Selector') return true;
  if (from === 'Same') return false;
  return from === 'All' || labelMatcher(selector ?? {})(namespace);
}

/** Finds the pool of a task. Pure over the caches. */
export function resolvePool({ metadata, spec }: AgentTask, lookup: PoolLookup): Resolution {
  return resolvePoolRef(metadata.namespace ?? '', spec.poolRef, lookup);
}

/** Finds the pool of the tasks of a namespace that name it like this. */
export function resolvePoolRef(own: string, poolRef: AgentTask['spec']['poolRef'], lookup: PoolLookup): Resolution {
  const namespace = lookup.namespace(own);
  if (poolRef === undefined) return defaultPool(own, namespace, lookup);
  const home = poolRef.namespace ?? own;
  const pool = lookup.pool(home, poolRef.name);
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) {
    return {
      reason: 'PoolNotFound',
      message: `there is no ExpertPool ${home}/${poolRef.name}; create it, or create the task again with another spec.poolRef`,
    };
  }
  if (namespace !== undefined && allows(pool, namespace)) return { pool };
  return {
    reason: 'NamespaceNotAllowed',
    message: `ExpertPool ${home}/${poolRef.name} does not take tasks of namespace ${own}; its spec.allowedNamespaces must allow it`,
  };
}

function defaultPool(own: string, namespace: Namespace | undefined, lookup: PoolLookup): Resolution {
  const fitting = lookup
    .defaultPools()
    .filter((pool) => pool.metadata.deletionTimestamp === undefined && namespace !== undefined && allows(pool, namespace))
    // A pool of the same namespace is nearer than one of the platform.
    .sort((a, b) => Number(b.metadata.namespace === own) - Number(a.metadata.namespace === own));
  const [first, second] = fitting;
  if (first === undefined) {
    return { reason: 'NoDefaultPool', message: `no ExpertPool is the default for namespace ${own}; set spec.poolRef.name` };
  }
  if (second !== undefined && (first.metadata.namespace === own) === (second.metadata.namespace === own)) {
    const names = fitting.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`).join(', ');
    return {
      reason: 'AmbiguousDefaultPool',
      message: `several pools are the default for namespace ${own} (${names}); set spec.poolRef.name`,
    };
  }
  return { pool: first };
}
