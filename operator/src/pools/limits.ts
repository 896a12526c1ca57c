import type { ExpertPool } from '@agentfleet/protocol/api';

/** Share of the slots of a pool that tasks of one namespace may hold where several namespaces use it and none is named. */
const usualShare = 0.75;

/** Slots of a pool as its spec asks for them. */
function slotsOf({ spec: { workers, limits } }: ExpertPool): number {
  return Math.min(workers.replicas * workers.concurrency, limits?.maxRunning ?? Infinity);
}

/**
 * Tasks of one namespace that may run at once: what the pool says; else all where only its own namespace uses it, and
 * three quarters of its slots, rounded up, where others may: one of four or more is always left for another namespace. Pure.
 */
export function perNamespaceOf(pool: ExpertPool): number {
  const { limits, allowedNamespaces } = pool.spec;
  if (limits?.perNamespace !== undefined) return limits.perNamespace;
  const slots = slotsOf(pool);
  const share = Math.ceil(slots * usualShare);
  return allowedNamespaces.from === 'Same' || share >= slots ? Infinity : share;
}
