import type { AgentTaskOrder, EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import type { Lister } from '@agentfleet/kube';
import { rolloutOrderIndex, rolloutOrderKey, type RolloutTarget } from '../runtime/caches.ts';
import type { Seen } from './progress.ts';

/** What people decided about the revision that is tried: by orders that stand. A rejection counts for more than an approval. */
export function decidedBy(
  orders: Lister<AgentTaskOrder>,
  kind: RolloutTarget,
  { metadata, status }: Pick<ExpertPool | EnergyModel, 'metadata' | 'status'>,
): Pick<Seen, 'approved' | 'rejected'> {
  const canary = status?.rollout?.canary;
  const standing = orders
    .byIndex(rolloutOrderIndex, rolloutOrderKey(metadata.namespace, kind, metadata.name))
    .filter(({ spec, status: answer }) => spec.revision === canary && (answer?.state === undefined || answer.state === 'Accepted'));
  const has = (type: string): string | undefined => (standing.some(({ spec }) => spec.type === type) ? canary : undefined);
  return { approved: has('Approve'), rejected: has('Reject') };
}
