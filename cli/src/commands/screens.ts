import { asError, ResourceClient } from '@agentfleet/kube';
import type { AgentTask, Run } from '@agentfleet/protocol/api';
import type { ConversationEntry } from '@agentfleet/protocol/results';
import { agentTasks } from '../base/connection.ts';
import { ResultsApi } from '../evidence/artifact.ts';
import { ageOf, paint, type Paintable } from '../text/format.ts';
import { printable } from '@agentfleet/protocol/text';
import { conversationLines } from '../timeline/index.ts';
import { taskOf, type CommandContext, type Screen } from './command.ts';
import { assertDelivered, assertSucceeded, followed, lookedAt, momentOf, type FollowOptions } from './follow.ts';
import { Polling } from './polling.ts';
import { selectionOf, tableLines, type TasksFlags } from './tasks.ts';

const pollMs = 1_000;
/** Entries that are kept for the screen. */
const mostEntries = 200;
const bars = 20;

/** Draws the used share of a budget as a bar; undefined where there is none. Pure. */
function meter(name: string, used: number | undefined, most: number | undefined, by: Paintable): string | undefined {
  if (used === undefined || most === undefined || most <= 0) return used === undefined ? undefined : `${name} ${used}`;
  const share = Math.min(1, used / most);
  const filled = Math.round(share * bars);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(bars - filled)}`;
  return `${name} ${paint(by, share > 0.9 ? 'red' : share > 0.7 ? 'yellow' : 'green', bar)} ${used} of ${most}`;
}

/** The budget of a task and what is used of it. Pure. */
function budgetLines({ spec, status }: AgentTask, by: Paintable): readonly string[] {
  const { usage }: Partial<Run> = status?.run ?? {};
  if (usage === undefined) return [];
  const { budget }: Partial<AgentTask['spec']> = spec;
  const lines = [
    meter('tokens    ', (usage.tokensIn ?? 0) + (usage.tokensOut ?? 0), budget?.tokens, by),
    meter('tool calls', usage.toolCalls, budget?.toolCalls, by),
    meter('seconds   ', usage.wallSeconds, budget?.wallSeconds, by),
  ];
  return lines.filter((line) => line !== undefined);
}

interface Picture {
  readonly task: AgentTask;
  readonly entries: readonly ConversationEntry[];
  /** Reason why there is no conversation. */
  readonly problem?: string | undefined;
  readonly now: number;
}

/** The screen of one task: where it is, its budget, and as much of the end of its conversation as fits. Pure. */
export function taskPicture(
  { task, entries, problem, now }: Picture,
  { columns, rows }: Pick<Screen, 'columns' | 'rows'>,
  by: Paintable,
): readonly string[] {
  const { metadata, spec } = task;
  const head = [
    paint(by, 'bold', printable(`${metadata.namespace ?? ''}/${metadata.name}  ${ageOf(metadata.creationTimestamp, now)}`)),
    printable(spec.goal ?? '').slice(0, columns),
    ...momentOf(task).map(printable),
    ...budgetLines(task, by),
    '',
  ];
  const most = Math.max(3, rows - head.length - 2);
  const said = entries.slice(-most).flatMap((entry) => conversationLines(entry, 3));
  const below = problem === undefined ? said : [...said, printable(problem)];
  return [...head, ...below.slice(-most)].map((line) => cutTo(line, columns));
}

/** Colours have no width; only lines without one are cut. */
function cutTo(line: string, columns: number): string {
  return line.includes('\u001b') || line.length <= columns ? line : `${line.slice(0, Math.max(1, columns - 1))}…`;
}

function assertGood(ended: AgentTask): void {
  assertSucceeded(ended);
  assertDelivered(ended);
}

/** Follows a task until it has ended: on the whole terminal, or line by line. @throws CliError unless it succeeded */
export async function watch(
  context: CommandContext,
  name: string,
  { plain = false, ...options }: FollowOptions & { readonly plain?: boolean },
): Promise<void> {
  const { clock, signal, transport } = context;
  const screen = plain ? undefined : await context.screen?.();
  if (screen === undefined) return assertGood(await followed(context, name, options));
  const entries: ConversationEntry[] = [];
  let problem: string | undefined;
  let task = await taskOf(context, name);
  const stopping = new AbortController();
  const until = AbortSignal.any([signal, stopping.signal]);
  const listening = (async () => {
    for await (const entry of new ResultsApi(transport, until).conversation(task, { follow: true })) {
      entries.push(entry);
      if (entries.length > mostEntries) entries.shift();
    }
  })().catch((error: unknown) => {
    if (!until.aborted) problem = `no conversation: ${asError(error).message}`;
  });
  const draw = (below?: string): void => screen.draw(taskPicture({ task, entries, problem: below, now: clock.now() }, screen, context));
  try {
    const ended = await lookedAt({ ...context, warn: draw }, name, options, (seen) => {
      task = seen;
      draw(problem);
    });
    assertGood(ended);
  } finally {
    screen.done();
    stopping.abort();
    await listening;
  }
}

/** Phases in the order in which people want to see them. */
const order = ['AwaitingApproval', 'Running', 'Verifying', 'Preparing', 'RollingBack', 'Queued', 'Pending', 'Suspended'];
const rank = ({ status }: AgentTask): number => {
  const at = order.indexOf(status?.phase ?? 'Pending');
  return at === -1 ? order.length : at;
};

/** Those that need a person first. Pure. */
function overview(tasks: readonly AgentTask[], now: number, options: TasksFlags): readonly string[] {
  const created = ({ metadata }: AgentTask): string => metadata.creationTimestamp ?? '';
  const sorted = tasks.toSorted((a, b) => rank(a) - rank(b) || (created(a) < created(b) ? 1 : -1));
  const live = sorted.filter(({ status }) => status?.finished !== 'true').length;
  return [`${live} live, ${sorted.length - live} ended`, '', ...tableLines(sorted, now, { ...options, output: 'wide' })];
}

/** Lists tasks again and again, what needs a person first; once, where standard output is no terminal. */
export async function top(context: CommandContext, options: TasksFlags): Promise<void> {
  const { clock, print } = context;
  const client = new ResourceClient(context.transport, agentTasks);
  const screen = await context.screen?.();
  let lines: readonly string[] = [];
  const draw = (above: readonly string[] = []): void =>
    screen?.draw([...above, ...lines].slice(0, screen.rows - 1).map((line) => cutTo(line, screen.columns)));
  const polling = new Polling({ ...context, warn: (words) => draw([words]) }, { everyMs: 2 * pollMs, what: 'the list of tasks' });
  const selected = selectionOf(context, options);
  try {
    for (;;) {
      const items = await polling.look(() => client.list(selected));
      if (items !== null) lines = overview(items, clock.now(), options);
      if (screen === undefined) {
        for (const line of lines) print(line);
        return;
      }
      if (items !== null) draw();
      if (!(await polling.pause())) return;
    }
  } finally {
    screen?.done();
  }
}
