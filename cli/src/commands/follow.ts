import type { AgentTask } from '@agentfleet/protocol/api';
import { findCondition } from '@agentfleet/kube';
import { CliError, exitCodes } from '../base/failure.ts';
import { printable } from '@agentfleet/protocol/text';
import { firstLine } from '../text/format.ts';
import { taskOf, type CommandContext } from './command.ts';
import { idleOperator } from './leader.ts';
import { cureOf, stageOf, standsStill } from './explain.ts';
import { meaning } from './show.ts';
import { Polling } from './polling.ts';

const pollMs = 1_000;
/** Time in which a pool that a task names may come to be, or its spec be mended, ms. */
const stillMs = 60_000;

export interface FollowOptions {
  /** Seconds. */
  readonly timeout: number;
}

/** Lists what a person wants to know of a moment of a task, one line each. Pure. */
export function momentOf(task: AgentTask): readonly string[] {
  const { metadata, status } = task;
  const { name } = metadata;
  const stage = stageOf(task);
  const { phase = 'Pending', queue, run, assignment, attempts = [] } = status ?? {};
  const place = queue?.position === undefined ? '' : `, ${queue.position} before it`;
  const pending = status?.finished === 'true' || phase !== 'AwaitingApproval' ? undefined : run?.pendingApproval;
  const { done, total, message } = run?.progress ?? {};
  return [
    `${phase}${place}${assignment === undefined ? '' : ` (attempt ${assignment.attempt})`}`,
    ...(stage === undefined ? [] : [`${stage.reason}: ${stage.message}${cureOf(stage.reason)}`]),
    ...attempts.flatMap(({ number, class: failure, reason = '' }) =>
      failure === undefined ? [] : [`attempt ${number} failed: ${failure}, ${reason}`],
    ),
    ...(run?.plan ?? []).flatMap(({ kind, intent, state }) =>
      state === 'Pending' ? [] : [`${kind.toLowerCase()} ${state.toLowerCase()}: ${intent}`],
    ),
    ...(message === undefined ? [] : [`${total === undefined || total === 0 ? '' : `${done ?? 0}/${total} `}${message}`]),
    ...(pending === undefined
      ? []
      : [
          `waits for you: ${pending.question ?? pending.summary}`,
          pending.kind === 'Question'
            ? `answer it: fleet answer ${name} <text>`
            : `decide: fleet approve ${name} ${meaning(pending)}, or fleet reject ${name} ${meaning(pending)}`,
        ]),
  ];
}

function stands({ metadata: { name, namespace = '' }, status }: AgentTask): CliError {
  const stopped = ['Stalled', 'Accepted'].map((type) => findCondition(status?.conditions, type)).find((one) => one !== undefined);
  const { reason = '', message = '' } = stopped ?? {};
  return new CliError(
    `AgentTask ${name} stands still (${reason}): ${printable(message)}${cureOf(reason)}; it goes on by itself where that is mended ("fleet watch ${name} -n ${namespace}" follows it), "fleet cancel ${name} -n ${namespace}" ends it`,
    exitCodes.standsStill,
  );
}

/**
 * Looks at a task until it has ended, shows each look, and returns the last one.
 *
 * @throws CliError when the time to wait is over, when only a change from outside helps for a minute, and on an interruption
 */
export async function lookedAt(
  context: CommandContext,
  name: string,
  { timeout }: FollowOptions,
  show: (task: AgentTask) => void,
): Promise<AgentTask> {
  const { clock } = context;
  const polling = new Polling(context, { everyMs: pollMs, what: `AgentTask ${name}`, exists: true });
  const end = clock.monotonic() + timeout * 1000;
  let task = await taskOf(context, name);
  show(task);
  const idle = task.status?.finished === 'true' ? undefined : await idleOperator(context);
  if (idle !== undefined) context.warn(idle);
  for (let moved = clock.monotonic(); task.status?.finished !== 'true';) {
    if (!standsStill(task)) moved = clock.monotonic();
    else if (clock.monotonic() - moved >= stillMs) throw stands(task);
    const rest = end - clock.monotonic();
    if (rest <= 0)
      throw new CliError(
        `AgentTask ${name} has not ended after ${timeout} s and goes on; follow it with "fleet watch ${name}", ask why with "fleet explain ${name}"`,
        exitCodes.stillRunning,
      );
    if (!(await polling.pause(rest)))
      throw new CliError(
        `interrupted; AgentTask ${name} goes on: "fleet watch ${name}" follows it, "fleet cancel ${name}" ends it`,
        exitCodes.interrupted,
      );
    const seen = await polling.look(() => taskOf(context, name));
    if (seen === null) continue;
    task = seen;
    show(task);
  }
  return task;
}

/** Prints what becomes of a task until it has ended, and returns it. A line is printed when it was not there a moment before. */
export async function followed(context: CommandContext, name: string, options: FollowOptions): Promise<AgentTask> {
  const { clock, print } = context;
  let before: readonly string[] = [];
  return lookedAt(context, name, options, (task) => {
    const lines = momentOf(task);
    for (const line of lines) if (!before.includes(line)) print(`${new Date(clock.now()).toISOString().slice(11, 19)} ${printable(line)}`);
    before = lines;
  });
}

/** Throws unless the task succeeded. */
export function assertSucceeded({ metadata: { name }, status }: AgentTask): void {
  if (status?.phase === 'Succeeded') return;
  const { reason = status?.phase ?? '', message = '' } = status?.run?.outcome ?? {};
  throw new CliError(
    `AgentTask ${name} ended as ${status?.phase ?? 'Failed'} (${reason}): ${firstLine(message)}; see "fleet explain ${name}"`,
    exitCodes.taskFailed,
  );
}

/** Throws when the result did not go all the way to where `spec.output` sends it. */
export function assertDelivered({ metadata: { name }, status }: AgentTask): void {
  const { reason, message = '' } = status?.run?.output ?? {};
  if (reason === undefined) return;
  throw new CliError(
    `the result of AgentTask ${name} is good, and was not delivered (${reason}): ${firstLine(message)}; "fleet patch ${name}" has it`,
    exitCodes.taskFailed,
  );
}
