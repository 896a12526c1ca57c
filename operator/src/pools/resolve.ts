import { byAge, labelMatcher, type Lister, type Predicate, findCondition } from '@agentfleet/kube';
import type { AgentTask, ExpertPool, PoolGrant, ChatEndpoint, Expert } from '@agentfleet/protocol/api';
import type { Namespace, Pod } from '../runtime/resources.ts';
import { grantSnippet, templateRights, type Consent, Consents, type ReachConfig } from './consent.ts';
import { labels } from '@agentfleet/protocol/pool';
import { workerServiceAccount } from './names.ts';
import { warmPoolOf } from '../runtime/caches.ts';

/** Reads of the caches that decide which pool a task belongs to. */
export interface PoolLookup {
  pool(namespace: string, name: string): ExpertPool | undefined;
  defaultPools(): readonly ExpertPool[];
  namespace(name: string): Namespace | undefined;
  readonly consents: Pick<Consents, 'to' | 'missing' | 'isClosed'>;
}

/** The pool of a task, or why it has none: a reason and a message for the condition `Accepted`. */
export type Resolution =
  | { readonly pool: ExpertPool }
  | {
      readonly pool?: undefined;
      readonly reason: 'PoolNotFound' | 'NamespaceNotAllowed' | 'PoolNotGranted' | 'NoDefaultPool';
      readonly message: string;
    };

/** Reports whether the pool takes tasks of this namespace. */
export function allows(pool: ExpertPool, namespace: Namespace): boolean {
  const { from, selector } = pool.spec.allowedNamespaces;
  if (pool.metadata.namespace === namespace.metadata.name && from !== 'Selector') return true;
  if (from === 'Same') return false;
  return from === 'All' || labelMatcher(selector ?? {})(namespace);
}

/** Reports whether sandboxes of the pool may wait in a namespace: the pool allows it, and the namespace consents. */
export function mayWarm(pool: ExpertPool, name: string, { namespace, consents }: Pick<PoolLookup, 'namespace' | 'consents'>): boolean {
  const target = namespace(name);
  return target !== undefined && allows(pool, target) && consents.to(pool, name, ['Warm', ...templateRights(pool)]) !== undefined;
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
  if (namespace !== undefined && allows(pool, namespace)) return granted(pool, own, lookup);
  return {
    reason: 'NamespaceNotAllowed',
    message: `ExpertPool ${home}/${poolRef.name} does not take tasks of namespace ${own}; its spec.allowedNamespaces must allow it`,
  };
}

/** Decides about a named pool: naming it is consent to it, and not to what its template sets on pods beyond that. */
function granted(pool: ExpertPool, own: string, { consents }: PoolLookup): Resolution {
  const rights = templateRights(pool);
  if (consents.to(pool, own, rights) !== undefined) return { pool };
  const name = `ExpertPool ${pool.metadata.namespace ?? ''}/${pool.metadata.name}`;
  if (consents.isClosed(own)) {
    const message = `namespace ${own} belongs to the cluster or to the operator, and no pool of another namespace reaches into it; create the task in another namespace`;
    return { reason: 'NamespaceNotAllowed', message };
  }
  const missing = { namespace: own, rights: consents.missing(pool, own, rights) };
  const message = `the template of ${name} sets what namespace ${own} does not allow (${missing.rights.join(', ')}); whoever owns ${own} may create ${grantSnippet(pool, missing)}`;
  return { reason: 'PoolNotGranted', message };
}

/** Rank of a consent when several pools are the default of a namespace; the lowest comes first. */
const nearness: Readonly<Record<Consent, number>> = { Own: 0, Grant: 1, Platform: 2 };

/**
 * The default pool of a namespace: of those that it consents to, one of its own before one that it grants, before one of the
 * platform; of equals the oldest, so that a second one neither takes tasks away nor blocks them.
 */
function defaultPool(own: string, namespace: Namespace | undefined, lookup: PoolLookup): Resolution {
  const fitting = lookup.defaultPools().flatMap((pool) => {
    if (pool.metadata.deletionTimestamp !== undefined || namespace === undefined || !allows(pool, namespace)) return [];
    const consent = lookup.consents.to(pool, own, ['Default', ...templateRights(pool)]);
    return consent === undefined ? [] : [{ pool, near: nearness[consent] }];
  });
  const [first] = fitting.sort((a, b) => a.near - b.near || byAge(a.pool, b.pool));
  if (first !== undefined) return { pool: first.pool };
  const message = `no ExpertPool is the default for namespace ${own}; create the task again with spec.poolRef, or whoever owns ${own} grants Default to a pool by a PoolGrant`;
  return { reason: 'NoDefaultPool', message };
}

/** The caches that decide which pool a task belongs to. */
interface PoolCaches {
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

/** Reports whether the operator has looked at the pool and can carry it out: nothing is made in other namespaces before. */
export function isAccepted({ status }: ExpertPool): boolean {
  return findCondition(status?.conditions, 'Accepted')?.status === 'True';
}

/** A pool changed, is about to go, or is carried out from now on or no more. */
export const poolChanged: Predicate<ExpertPool> = (change) => {
  if (change.type !== 'update') return true;
  const { old, object } = change;
  const [before, after] = [old.metadata, object.metadata];
  const isSame = before.generation === after.generation && before.deletionTimestamp === after.deletionTimestamp;
  return !isSame || isAccepted(old) !== isAccepted(object);
};

/** The server behind an API that an expert names; undefined: it is no such expert. */
export function endpointOf({ engine }: Pick<Expert, 'engine'>): ChatEndpoint | undefined {
  return engine.type === 'OpenAI' || engine.type === 'Anthropic' ? engine.api : undefined;
}

/** Names of the credentials that the gateway of a pool holds, and no worker. */
export function gatewayCredentials(experts: readonly Expert[]): ReadonlySet<string> {
  return new Set(experts.flatMap((expert) => endpointOf(expert)?.credential ?? []));
}

/** Annotation of a sandbox that was made ahead: what it was made from, as a hash. */
export const templateAnnotation = 'agentfleet.dev/template';

/** Reports whether the sandbox waits for a task. */
export function isUnclaimed(pod: Pod): boolean {
  return warmPoolOf(pod) !== undefined && pod.metadata.labels?.[labels.warm] === 'true';
}

/** Returns the number of sandboxes that a pool wants to wait in a namespace, and the time for which they wait. */
export function warmEntry(pool: ExpertPool, namespace: string) {
  return pool.spec.sandbox.warm?.find((entry) => entry.namespace === namespace);
}

/**
 * Reports whether a pod is a worker of the pool that its labels name, in its own namespace. Labels alone prove nothing: it must
 * also run as the account of the pool's workers, or it could neither read the tasks that it is given nor report about them.
 */
export function isWorkerPod({ metadata, spec }: Pod): boolean {
  const { [labels.component]: component, [labels.pool]: pool } = metadata.labels ?? {};
  return component === 'worker' && pool !== undefined && spec?.serviceAccountName === workerServiceAccount(pool);
}

/** Share of the slots of a pool that tasks of one namespace may hold where several namespaces use it and none is named. */
const usualShare = 0.75;

/** Slots of a pool as its spec asks for them. */
export function slotsOf({ spec: { workers, limits } }: ExpertPool): number {
  return Math.min(workers.replicas * workers.concurrency, limits?.maxRunning ?? Infinity);
}

/**
 * Tasks of one namespace that may run at once: what the pool sets; else all where only its own namespace uses it, and
 * three quarters of its slots, rounded up, where others may: one of four or more is always left for another namespace. Pure.
 */
export function perNamespaceOf(pool: ExpertPool): number {
  const { limits, allowedNamespaces } = pool.spec;
  if (limits?.perNamespace !== undefined) return limits.perNamespace;
  const slots = slotsOf(pool);
  const share = Math.ceil(slots * usualShare);
  return allowedNamespaces.from === 'Same' || share >= slots ? Infinity : share;
}
