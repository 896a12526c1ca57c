import type { AgentTaskOrder, EnergyModel, ExpertPool, RolloutStatus } from '@agentfleet/protocol/api';
import { isOpen } from '../../revisions/index.ts';
import { missingMs, ownerOf, statusOf, type OrderDecision, type Verdict } from './decide.ts';

/** Decides about an order whose target is a rollout; what it asks for is done by the controller of the target. Pure. */
export function decideRolloutOrder(order: AgentTaskOrder, target: ExpertPool | EnergyModel | undefined, now: number): OrderDecision {
  const age = now - Date.parse(order.metadata.creationTimestamp ?? '');
  const open = order.status?.state === undefined || order.status.state === 'Accepted';
  const verdict = open ? verdictOf(order, target) : undefined;
  // Caches of two kinds are not of one moment: whoever gave the order may have seen a later status.
  if (verdict?.state === 'Refused' && order.status?.state === undefined && age < missingMs)
    return { status: undefined, owner: undefined, requeueAfterMs: Math.max(1, missingMs - age) };
  return {
    status: verdict === undefined ? order.status : statusOf(order, verdict, now),
    owner: target === undefined ? undefined : ownerOf(target),
    requeueAfterMs: undefined,
  };
}

function verdictOf({ spec: { type, revision = '', rolloutRef } }: AgentTaskOrder, target: ExpertPool | EnergyModel | undefined): Verdict {
  const { kind = '', name = '' } = rolloutRef ?? {};
  if (target === undefined) return { state: 'Refused', message: `there is no ${kind} ${name}; correct spec.rolloutRef in another order` };
  const { rollout } = target.status ?? {};
  if (rollout?.stable === revision)
    return type === 'Approve'
      ? { state: 'Done', message: `revision ${revision} serves` }
      : { state: 'Refused', message: `revision ${revision} serves already; ask for another revision in the spec` };
  if (isOpen(rollout) && rollout?.canary === revision && rollout.phase !== 'RollingBack')
    return type === 'Approve'
      ? { state: 'Accepted', message: 'it is promoted as soon as every gate passes' }
      : { state: 'Accepted', message: 'it goes back, and is not tried again' };
  if (type === 'Reject' && rollout?.failures?.[revision] !== undefined) return { state: 'Done', message: `revision ${revision} went back` };
  return { state: 'Refused', message: `revision ${revision} is not being tried; ${triedNow(rollout)}` };
}

function triedNow(rollout: RolloutStatus | undefined): string {
  return isOpen(rollout) ? `status.rollout.canary is ${rollout?.canary ?? ''}` : 'no rollout is open, see status.rollout';
}
