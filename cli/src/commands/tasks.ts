import { ResourceClient } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { agentTasks } from '../base/connection.ts';
import { ageOf, table } from '../text/format.ts';
import type { CommandContext } from './command.ts';

export interface TasksOptions {
  readonly allNamespaces: boolean;
  readonly selector?: string;
}

const longestProgress = 64;

/** What goes on, or what it waits for. */
function progressOf({ status }: AgentTask): string {
  const { done, total, message } = status?.run?.progress ?? {};
  const steps = done === undefined || total === undefined || total === 0 ? '' : `${done}/${total} `;
  const place = status?.queue?.position === undefined ? undefined : `${status.queue.position} before it`;
  const waits = status?.phase === 'AwaitingApproval' ? status.run?.pendingApproval?.summary : undefined;
  const text = `${steps}${waits ?? place ?? message ?? ''}`.trim();
  return text.length <= longestProgress ? text : `${text.slice(0, longestProgress - 1)}…`;
}

function row(task: AgentTask, now: number, withNamespace: boolean): readonly string[] {
  const { metadata, status } = task;
  const cells = [
    metadata.name,
    status?.phase ?? 'Pending',
    String(status?.assignment?.attempt ?? '-'),
    progressOf(task) || '-',
    ageOf(metadata.creationTimestamp, now),
  ];
  return withNamespace ? [metadata.namespace ?? '', ...cells] : cells;
}

/** Lists tasks, the oldest first. */
export async function tasks({ transport, namespace, clock, signal, print }: CommandContext, options: TasksOptions): Promise<void> {
  const { allNamespaces, selector } = options;
  const found = await new ResourceClient(transport, agentTasks).list({
    ...(allNamespaces ? {} : { namespace }),
    ...(selector === undefined ? {} : { labelSelector: selector }),
    signal,
  });
  if (found.length === 0) {
    print(allNamespaces ? 'there are no AgentTasks' : `there are no AgentTasks in namespace ${namespace}`);
    return;
  }
  const age = ({ metadata }: AgentTask): string => metadata.creationTimestamp ?? '';
  const head = ['NAME', 'PHASE', 'ATTEMPT', 'PROGRESS', 'AGE'];
  const rows = found.sort((a, b) => (age(a) < age(b) ? -1 : 1)).map((task) => row(task, clock.now(), allNamespaces));
  for (const line of table(allNamespaces ? ['NAMESPACE', ...head] : head, rows)) print(line);
}
