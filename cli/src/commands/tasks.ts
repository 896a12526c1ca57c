import { ResourceClient } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { agentTasks } from '../base/connection.ts';
import { ageOf, table, objectLines, type Format } from '../text/format.ts';
import { taskOf, type CommandContext } from './command.ts';
import { idleOperator } from './leader.ts';

export interface TasksFlags {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly output?: Format;
}

const longestProgress = 64;

/** Describes what goes on, or what the task waits for. */
function progressOf({ status }: AgentTask): string {
  const { done, total, message } = status?.run?.progress ?? {};
  const steps = done === undefined || total === undefined || total === 0 ? '' : `${done}/${total} `;
  const place = status?.queue?.position === undefined ? undefined : `${status.queue.position} before it`;
  const waits = status?.phase === 'AwaitingApproval' ? status.run?.pendingApproval?.summary : undefined;
  const text = `${steps}${waits ?? place ?? message ?? ''}`.trim();
  return text.length <= longestProgress ? text : `${text.slice(0, longestProgress - 1)}…`;
}

function row(task: AgentTask, now: number, { allNamespaces = false, output }: TasksFlags): readonly string[] {
  const { metadata, status } = task;
  const cells = [
    metadata.name,
    status?.phase ?? 'Pending',
    String(status?.assignment?.attempt ?? '-'),
    progressOf(task) || '-',
    ageOf(metadata.creationTimestamp, now),
    ...(output === 'wide' ? wideOf(task) : []),
  ];
  return allNamespaces ? [metadata.namespace ?? '', ...cells] : cells;
}

/** Pool, worker, the reason of Ready, and tokens. */
function wideOf({ spec, status }: AgentTask): readonly string[] {
  const { tokensIn = 0, tokensOut = 0 } = status?.totals?.usage ?? status?.run?.usage ?? {};
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return [spec.poolRef?.name ?? '-', status?.assignment?.worker ?? '-', ready?.reason ?? '-', String(tokensIn + tokensOut)];
}

/** Returns the options of a list of the tasks that flags select. */
export const selectionOf = ({ namespace, signal }: CommandContext, { allNamespaces = false, selector }: TasksFlags) => ({
  ...(allNamespaces ? {} : { namespace }),
  ...(selector === undefined ? {} : { labelSelector: selector }),
  signal,
});

/** Lists tasks, the oldest first, or the one of a name. */
export async function tasks(context: CommandContext, name: string | undefined, flags: TasksFlags): Promise<void> {
  const { namespace, clock, print, transport } = context;
  const { allNamespaces = false, output } = flags;
  const age = ({ metadata }: AgentTask): string => metadata.creationTimestamp ?? '';
  const found =
    name === undefined ? await new ResourceClient(transport, agentTasks).list(selectionOf(context, flags)) : [await taskOf(context, name)];
  const items = found.sort((a, b) => (age(a) < age(b) ? -1 : 1));
  if (output === 'json' || output === 'yaml') {
    const [first] = items;
    const list = { apiVersion: 'v1', kind: 'List', items };
    for (const line of await objectLines(name === undefined ? list : first, output)) print(line);
    return;
  }
  if (items.length === 0) {
    print(allNamespaces ? 'there are no AgentTasks' : `there are no AgentTasks in namespace ${namespace}`);
    return;
  }
  for (const line of tableLines(items, clock.now(), flags)) print(line);
  const idle = items.every(({ status }) => status?.finished === 'true') ? undefined : await idleOperator(context);
  if (idle !== undefined) context.warn(idle);
}

/** Tasks as lines of a table. Pure. */
export function tableLines(items: readonly AgentTask[], now: number, options: TasksFlags): readonly string[] {
  const wide = options.output === 'wide' ? ['POOL', 'WORKER', 'REASON', 'TOKENS'] : [];
  const head = [...(options.allNamespaces === true ? ['NAMESPACE'] : []), 'NAME', 'PHASE', 'ATTEMPT', 'PROGRESS', 'AGE', ...wide];
  return table(
    head,
    items.map((task) => row(task, now, options)),
  );
}
