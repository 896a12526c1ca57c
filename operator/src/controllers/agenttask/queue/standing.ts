import { findCondition } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { Standing } from './poolQueue.ts';

/** Why a task is not assigned although it could be when there were room. */
export const waitReasons = ['WaitingForSlot', 'PoolAtLimit', 'QuotaExceeded', 'NoWorkerReady'] as const;

/** Whether it holds a slot of a worker. While it is quiesced it does not. */
export function occupies({ status, metadata }: AgentTask): boolean {
  const directive = status?.assignment?.directive;
  return status?.finished !== 'true' && metadata.deletionTimestamp === undefined && directive !== undefined && directive !== 'Quiesce';
}

/** Whether it would take a slot. One that nobody has looked at yet counts, because its turn may be the next. */
function waits(task: AgentTask): boolean {
  const { spec, status, metadata } = task;
  if (status?.finished === 'true' || metadata.deletionTimestamp !== undefined || spec.suspend || spec.cancel !== 'None' || occupies(task))
    return false;
  if (status?.conditions === undefined) return true;
  if (findCondition(status.conditions, 'Accepted')?.status !== 'True') return false;
  const reason = findCondition(status.conditions, 'Scheduled')?.reason;
  return waitReasons.some((one) => one === reason);
}

/** What a task is to the queue by its status alone. */
export function standing(task: AgentTask): Standing {
  if (occupies(task)) return 'Running';
  if (!waits(task)) return 'Elsewhere';
  return task.status?.conditions === undefined ? 'New' : 'Queued';
}

/** Whether it found no place in the queue. */
export function isCrowdedOut({ status, metadata }: AgentTask): boolean {
  if (status?.finished === 'true' || metadata.deletionTimestamp !== undefined) return false;
  return status?.conditions?.some(({ type, reason }) => type === 'Accepted' && reason === 'QueueFull') === true;
}
