import { findCondition } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { Sample } from './ledger.ts';

/** Ends that say nothing about who did the work: the cluster, or what the user wrote. */
const notTheArms: ReadonlySet<string> = new Set([
  'Infrastructure',
  'InvalidInput',
  'Cancelled',
  'IsolationBelowFloor',
  'NetworkNotEnforced',
  'QueueTimeout',
]);

/** Whether the task passed; undefined when its end is not its arm's. */
function passedOf({ status }: AgentTask): boolean | undefined {
  const succeeded = findCondition(status?.conditions, 'Succeeded');
  if (succeeded?.status === 'True') return true;
  const { reason: last, started } = status?.attempts?.at(-1) ?? {};
  // What did not come to work says nothing about who would have worked.
  if (started === false) return undefined;
  if (succeeded?.status !== 'False' || notTheArms.has(succeeded.reason)) return undefined;
  return last !== undefined && notTheArms.has(last) ? undefined : false;
}

function rolledBackOf({ status }: AgentTask): boolean | undefined {
  const undone = findCondition(status?.conditions, 'RolledBack');
  if (undone?.reason === 'Restored') return true;
  return undone?.reason === 'NotVerified' ? false : undefined;
}

/** Whether a person had undone what was done. */
function isRevoked(task: AgentTask): boolean {
  return findCondition(task.status?.conditions, 'Succeeded')?.reason === 'Cancelled' && rolledBackOf(task) !== undefined;
}

/** What a task that has ended says about a revision; undefined for one that does not count for a rollout. Pure. */
export function sampleOf(task: AgentTask, revision: string): Sample {
  const { status, metadata } = task;
  const { vetoes = 0, candidates = 0 } = status?.totals?.usage ?? {};
  const { energy, pSuccess } = status?.run?.signals ?? {};
  return {
    uid: metadata.uid ?? '',
    revision,
    passed: passedOf(task),
    acts: { vetoed: vetoes, total: Math.max(vetoes, candidates) },
    rolledBack: rolledBackOf(task),
    ...(isRevoked(task) ? { revoked: true } : {}),
    energy: energy === undefined ? undefined : Number(energy),
    ...(pSuccess === undefined ? {} : { pSuccess: Number(pSuccess) }),
  };
}

/**
 * What a task that has not ended says: failed, when the time in which it was to end is over. One that a person holds up
 * says nothing. Pure. `now` is wall time in ms.
 */
export function lateSampleOf(
  { status, metadata, spec }: AgentTask,
  revision: string,
  windowSeconds: number,
  now: number,
): Sample | undefined {
  const clock = status?.clock;
  if (clock === undefined || clock.pausedAt !== undefined || spec.suspend) return undefined;
  if (now - Date.parse(clock.startedAt) < (windowSeconds + clock.pausedSeconds) * 1000) return undefined;
  return {
    uid: metadata.uid ?? '',
    revision,
    passed: false,
    acts: { vetoed: 0, total: 0 },
    rolledBack: undefined,
    energy: undefined,
  };
}
