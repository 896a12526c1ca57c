import { findCondition } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';

/** Whether the operator has looked at the pool and can carry it out: nothing is made in other namespaces before. */
export function isAccepted({ status }: ExpertPool): boolean {
  return findCondition(status?.conditions, 'Accepted')?.status === 'True';
}
