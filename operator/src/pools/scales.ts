import type { ExpertPool, ExpertScale } from '@agentfleet/protocol/api';

/** The ExpertScales of an expert, the oldest first; that one counts. Pure. */
export function scalesOf(pool: string, expert: string, all: readonly ExpertScale[]): readonly ExpertScale[] {
  const age = ({ metadata }: ExpertScale): string => `${metadata.creationTimestamp ?? ''} ${metadata.name}`;
  return all
    .filter(({ spec, metadata }) => spec.poolRef.name === pool && spec.expert === expert && metadata.deletionTimestamp === undefined)
    .sort((a, b) => (age(a) < age(b) ? -1 : 1));
}

/** The pool with so many pods of an expert. Pure. */
export function withReplicas(pool: ExpertPool, expert: string, replicas: number): ExpertPool {
  const experts = pool.spec.experts.map((one) => (one.name === expert ? { ...one, replicas } : one));
  return { ...pool, spec: { ...pool.spec, experts } };
}

/**
 * The pool with as many pods of its experts as their ExpertScales were granted; `scales` are those of its namespace. The same object
 * when nothing scales it. Pure.
 */
export function scaledPool(pool: ExpertPool, scales: readonly ExpertScale[]): ExpertPool {
  let scaled = pool;
  for (const { name, replicas } of pool.spec.experts) {
    const granted = scalesOf(pool.metadata.name, name, scales)[0]?.status?.granted;
    if (granted !== undefined && granted !== replicas) scaled = withReplicas(scaled, name, granted);
  }
  return scaled;
}
