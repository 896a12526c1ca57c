import { findCondition } from '@agentfleet/kube';
import type { AgentTaskStatus, ExpertPool, Reason } from '@agentfleet/protocol/api';
import { nameOf } from './acceptance.ts';
import type { Attempt, Ending } from './attempts.ts';
import type { Facts } from './facts.ts';

/** Failures in a row before anything was begun after which a task has failed. `status.attempts` shows at least as many. */
export const maxStartFailures = 5;

/** Seconds in which a sandbox has to answer where no pool says it any more. */
const usualStartSeconds = 120;

/** What to do about a sandbox that does not start, by what keeps it. */
const cures: Readonly<Record<string, string>> = {
  ImagePullBackOff: 'correct spec.sandbox.image of the task or of the template of the pool, or what the registry demands',
  Unschedulable: 'offer nodes with room for it, or ask for less in spec.sandbox',
};

/** Seconds in which the sandbox of a task has to answer. Pure. */
export function startTimeoutSeconds(pool: ExpertPool | undefined): number {
  return pool?.spec.sandbox.startTimeoutSeconds ?? usualStartSeconds;
}

/** When a sandbox that has not answered is given back, in ms since the epoch; Infinity when it may take its time. */
export function startUntil({ assignment, sandbox, answered, open, snapshot }: Facts): number {
  // Also of a suspended task: nobody could bring it to rest there.
  const begins = assignment?.directive === 'Run' || assignment?.directive === 'Quiesce';
  const starts = begins && open && sandbox?.metadata.name === assignment.sandbox && !answered;
  if (!starts) return Infinity;
  const since = Date.parse(sandbox.metadata.creationTimestamp ?? assignment.since);
  return since + startTimeoutSeconds(snapshot.resolution.pool) * 1000;
}

/** How an attempt ends whose sandbox did not answer in time; undefined for any other one. Pure. */
export function lateStart(facts: Facts): Ending | undefined {
  const { now, sandboxIs, snapshot } = facts;
  if (sandboxIs === undefined || now < startUntil(facts)) return undefined;
  const { pool } = snapshot.resolution;
  const { reason, message } = volumeTrouble(facts) ?? sandboxIs;
  const why = reason === 'Starting' ? 'SandboxStartTimeout' : reason;
  const bound = `${startTimeoutSeconds(pool)} s (spec.sandbox.startTimeoutSeconds of ExpertPool ${pool === undefined ? 'that is gone' : nameOf(pool)})`;
  const cure = cures[reason] ?? 'look at the events of the pod, or give it more time';
  return {
    result: 'Failed',
    class: 'Infrastructure',
    reason: why,
    message: `the sandbox did not answer within ${bound}: ${message}; ${cure}`,
  };
}

/** A pod says nothing of the volume that it waits for, or only that it has no node. */
function volumeTrouble({ status }: Facts): { readonly reason: Reason; readonly message: string } | undefined {
  const said = findCondition(status.conditions, 'StorageReady');
  if (said?.status !== 'False') return undefined;
  return { reason: said.reason === 'VolumeLost' ? said.reason : 'VolumeNotBound', message: said.message };
}

/**
 * Whether an attempt failed before anything was begun in its sandbox: then there is nothing in it to keep. A worker that
 * went leaves a sandbox that another one can use. Pure.
 */
export function failedBeforeStart({ answered, run, status }: Facts, { class: failure, reason }: Ending): boolean {
  if (failure !== 'Infrastructure' || reason === 'WorkerLost' || reason === 'Stopped') return false;
  if (!answered) return true;
  return run?.snapshots?.initial === undefined && neverStarted(status.attempts ?? []);
}

/** Whether no attempt began anything. */
export function neverStarted(attempts: readonly Attempt[]): boolean {
  return attempts.every(({ started }) => started === false);
}

/** Failures before anything was begun since the last attempt in which something was. Pure. */
export function startFailures(attempts: readonly Attempt[]): number {
  let count = 0;
  for (const { started, class: failure, usage } of attempts.toReversed()) {
    if (started === false) count += 1;
    else if (failure !== 'Infrastructure' || usage !== undefined) break;
  }
  return count;
}

/** Name of the sandbox of an attempt that ended before anything was begun in it: it is given back, and never used again. */
export function spentSandbox({ assignment }: Pick<Facts, 'assignment'>, attempts: readonly Attempt[]): string | undefined {
  const last = attempts.at(-1);
  return last?.started === false && last.number === assignment?.attempt ? assignment.sandbox : undefined;
}

/** Why the last sandbox did not come to work, as its condition keeps it; undefined when it did. */
export function startTrouble({ conditions }: AgentTaskStatus, attempt: Attempt | undefined): string | undefined {
  const said = findCondition(conditions, 'SandboxReady');
  return attempt?.started === false && said?.reason === attempt.reason ? said?.message : undefined;
}
