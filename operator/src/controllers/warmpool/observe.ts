import type { ExpertPool } from '@agentfleet/protocol/api';
import { isUnclaimed, warmEntry, warmIndex } from '../../pools/warm.ts';
import type { ReachConfig } from '../../pools/consent.ts';
import { poolLookup } from '../../pools/lookup.ts';
import { mayWarm } from '../../pools/resolve.ts';
import { isAccepted } from '../../pools/accepted.ts';
import type { Caches } from '../../runtime/context.ts';
import type { Namespace } from '../../runtime/objects.ts';
import type { Preparations } from '../agenttask/prepared.ts';
import type { WarmPlace } from './decide.ts';

/** Whether nothing may be made in the namespace any more. */
function goes({ metadata, status }: Namespace): boolean {
  return metadata.deletionTimestamp !== undefined || status?.phase === 'Terminating';
}

/** Namespaces in which sandboxes of the pool wait or are to wait. `pool` is undefined when it is gone or going. */
export function placesOf(
  caches: Caches,
  reach: ReachConfig,
  preparations: Preparations,
  key: string,
  pool: ExpertPool | undefined,
): readonly WarmPlace[] {
  const { pods, namespaces } = caches;
  const lookup = poolLookup(caches, reach);
  const waiting = pods.lister.byIndex(warmIndex, key).filter(isUnclaimed);
  const wanted = pool?.spec.sandbox.warm ?? [];
  const names = new Set([...wanted.map(({ namespace }) => namespace), ...waiting.map(({ metadata }) => metadata.namespace ?? '')]);
  return [...names].sort().map((name) => {
    const namespace = namespaces.lister.get(name);
    const allowed = pool !== undefined && namespace !== undefined && !goes(namespace) && mayWarm(pool, name, lookup);
    return {
      namespace: name,
      entry: allowed ? warmEntry(pool, name) : undefined,
      // A pool that cannot be carried out as it is gets nothing new.
      prepared: allowed && isAccepted(pool) && preparations.has(pool, name),
      pods: waiting.filter(({ metadata }) => metadata.namespace === name),
    };
  });
}
