import { isConflict, isNotFound } from '@agentfleet/kube';
import type { AgentTask, Assignment, Run } from '@agentfleet/protocol/api';
import { resources } from '../../../runtime/resources.ts';
import type { Stage } from './stage.ts';

export const usage = { tokensIn: 1, tokensOut: 2, toolCalls: 3, cpuMillis: 4, wallSeconds: 5, candidates: 6, vetoes: 7, backtracks: 8 };

/** Returns the report of the worker for an assignment; undefined: nothing yet. */
export type Script = (assignment: Assignment, task: AgentTask) => Partial<Run> | undefined;

export const succeeds: Script = () => ({
  usage,
  snapshots: { initial: 's0001' },
  outcome: { result: 'Succeeded', reason: 'ChecksPassed' },
});

export const fails = (reason = 'ChecksFailed'): Partial<Run> => ({
  usage,
  snapshots: { initial: 's0001' },
  outcome: { result: 'Failed', class: 'CheckFailed', reason, message: '1 of 3 tests fails' },
});

/** URI under which the worker stores its checkpoint. */
export const checkpointURI = 's3://agents/checkpoints/one';

export const works: Partial<Run> = { usage, snapshots: { initial: 's0001' }, progress: { done: 1, total: 2 } };

/** Works under the first epoch, and succeeds under a later one. */
export const succeedsLater: Script = (assignment, task) => (assignment.epoch === 1 ? works : succeeds(assignment, task));

/** Obeys every directive: restores, stops, and otherwise follows the script. */
export function obedient(script: Script): Script {
  return (assignment, task) => {
    if (assignment.directive === 'Rollback') return { ...works, rollback: { snapshot: 's0001', verified: true } };
    if (assignment.directive === 'Stop') return { ...works, outcome: { result: 'Stopped', reason: 'Stopped' } };
    return assignment.directive === 'Quiesce' ? undefined : script(assignment, task);
  };
}

/** Obeys, and stores what a suspended task needs to go on elsewhere. */
export function storing(script: Script): Script {
  const obeys = obedient(script);
  return (assignment, task) => {
    if (assignment.directive !== 'Quiesce' || !task.spec.suspend) return obeys(assignment, task);
    return { ...works, snapshots: { initial: 's0001', checkpointURI }, quiescedAt: task.status?.clock?.startedAt ?? '' };
  };
}

/** Adds workers that follow one script; each reports once for an epoch, directive and decision, when its sandbox is ready. */
export function playWorkers(bed: Stage, script: Script): void {
  const said = new Set<string>();
  bed.actors.push(async () => {
    for (const task of bed.server.objects(resources.agentTasks)) {
      const { assignment, finished, conditions } = task.status ?? {};
      if (assignment === undefined || finished === 'true' || !bed.beating.has(assignment.worker)) continue;
      const ready = conditions?.some(({ type, status }) => type === 'SandboxReady' && status === 'True') === true;
      const key = `${task.metadata.uid ?? ''} ${assignment.epoch} ${assignment.directive} ${task.status?.approvals?.length ?? 0}`;
      if (!ready || said.has(key)) continue;
      const report = script(assignment, task);
      if (report === undefined) continue;
      said.add(key);
      await tell(bed, task, { ...report, attempt: assignment.attempt, epoch: assignment.epoch });
    }
  });
}

async function tell(bed: Stage, { metadata: { name, namespace = '' } }: AgentTask, run: Run): Promise<void> {
  try {
    await bed.tasks.applyStatus({ metadata: { name, namespace }, status: { run } }, { fieldManager: 'agentfleet-worker' });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
