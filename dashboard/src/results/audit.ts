import { inspectLog } from '@agentfleet/keeper/log';
import type { AgentTask } from '@agentfleet/protocol/api';
import { bounds } from '../base/config.ts';
import type { AuditState } from '../base/wire.ts';
import { type ResultsSource, type TaskName, wholeOf } from './source.ts';

/**
 * Checks every record of a task's log. Its head is held against the status once the task has ended: until then the status may be
 * ahead of the mirror that is read.
 */
export async function auditOf(results: ResultsSource, task: AgentTask, place: TaskName, signal: AbortSignal): Promise<AuditState> {
  const log = await wholeOf(await results.log(place, signal), bounds.logBytes);
  const root = task.status?.finished === 'true' ? task.status.run?.auditRoot : undefined;
  const { ok, records, head, faults, behindRoot } = await inspectLog(log, { signal, ...(root === undefined ? {} : { root }) });
  const told = faults.slice(0, 20).map(({ line, why }) => `line ${line}: ${why}`);
  return { ok, records, head: head.hash, faults: told, behindRoot: behindRoot ?? 0 };
}
