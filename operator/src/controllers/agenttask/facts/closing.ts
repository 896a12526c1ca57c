import type { Run } from '@agentfleet/protocol/api';
import type { Facts } from './snapshot.ts';

/** Activity of a task whose worker did not report the end. */
const overMessage = 'the task has ended';

/**
 * Reports whether the newest report of a task that has ended still has it at work: it was cancelled, or failed, while no worker had it, and
 * nobody else corrects what the last one reported. Pure.
 */
export function leavesOpen({ status: { run } }: Pick<Facts, 'status'>): boolean {
  if (run === undefined || run.outcome !== undefined || run.rollback !== undefined) return false;
  return run.pendingApproval !== undefined || (run.progress !== undefined && run.progress.message !== overMessage);
}

/** Returns the change of such a report: nothing goes on, and nothing waits for a person. Pure. */
export function closedRun({ progress = { done: 0, total: 0 }, plan }: Run) {
  const open = new Set(['Pending', 'Running']);
  return {
    pendingApproval: null,
    progress: { ...progress, message: overMessage },
    ...(plan !== undefined && { plan: plan.map((node) => (open.has(node.state) ? { ...node, state: 'Dropped' } : node)) }),
  };
}
