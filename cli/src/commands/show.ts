import type { AgentTask, Run } from '@agentfleet/protocol/api';
import { ageOf, duration, table } from '../text/format.ts';
import { printable, printableLines } from '@agentfleet/protocol/text';
import { taskOf, type CommandContext } from './command.ts';
import { idleOperator } from './leader.ts';

/** A heading and what stands below it; nothing when the list is empty. */
function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${line}`)];
}

function pairs(values: Readonly<Record<string, string | number | boolean | undefined>>): readonly string[] {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  const widest = Math.max(0, ...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${`${name}:`.padEnd(widest + 1)} ${printable(String(value))}`);
}

function head({ metadata, spec, status }: AgentTask, now: number): readonly string[] {
  const { assignment, clock } = status ?? {};
  return pairs({
    Task: `${metadata.namespace ?? ''}/${metadata.name}`,
    Goal: spec.goal,
    Pool: spec.poolRef === undefined ? 'the default one' : `${spec.poolRef.namespace ?? metadata.namespace ?? ''}/${spec.poolRef.name}`,
    Profile: spec.profile,
    Phase: status?.phase ?? 'Pending',
    Queue: status?.queue?.position === undefined ? undefined : `${status.queue.position} tasks before it`,
    Age: ageOf(metadata.creationTimestamp, now),
    Clock: clock === undefined ? undefined : clockOf(clock, spec.deadlineSeconds, now),
    Attempt: assignment?.attempt,
    Worker: assignment === undefined ? undefined : `${assignment.workerNamespace}/${assignment.worker} (epoch ${assignment.epoch})`,
    Sandbox: assignment === undefined ? undefined : `${assignment.sandbox}${assignment.warm ? ' (was warm)' : ''}`,
    Progress: status?.run?.progress?.message,
  });
}

function clockOf(clock: NonNullable<NonNullable<AgentTask['status']>['clock']>, deadlineSeconds: number, now: number): string {
  const until = clock.pausedAt === undefined ? now : Date.parse(clock.pausedAt);
  const used = until - Date.parse(clock.startedAt) - clock.pausedSeconds * 1000;
  return `${duration(used)} of ${duration(deadlineSeconds * 1000)}${clock.pausedAt === undefined ? '' : ', stands still'}`;
}

/** Hexadecimal digits of an act's digest that name it: too many to look for another act that begins alike. */
export const leastOfDigest = 16;

/** The option by which a command decides about this act alone, whatever waits by then. */
export function meaning({ action }: { readonly action: string }): string {
  return `--action ${action.replace('sha256:', '').slice(0, leastOfDigest)}`;
}

/** Lines about the act, question or result that waits for a person, with the commands that decide; none where it was decided. Pure. */
export function approvalLines({ metadata: { name, namespace }, status }: AgentTask, now: number): readonly string[] {
  const pending = status?.finished === 'true' ? undefined : status?.run?.pendingApproval;
  if (pending === undefined || status?.approvals?.some(({ action }) => action === pending.action) === true) return [];
  const { kind = 'Act', summary, question, evidence, expires } = pending;
  const where = `${name} -n ${namespace ?? ''}`;
  const meant = `${where} ${meaning(pending)}`;
  const how = kind === 'Question' ? `fleet answer ${where} <text>` : `fleet approve ${meant}, or fleet reject ${meant}`;
  const whole = status?.run?.artifacts?.find(({ sha256 }) => pending.action === `sha256:${sha256}`);
  const read = whole === undefined ? undefined : `fleet artifacts ${name} ${whole.name} -n ${namespace ?? ''}`;
  return [
    ...pairs({ [kind]: question ?? summary, Whole: read, Why: evidence, Digest: pending.action }),
    `Answer within ${duration(Date.parse(expires) - now)}: ${how}`,
  ];
}

const depth = { Goal: 0, Subtask: 1, Step: 2 } as const;
const marks = { Pending: '·', Running: '▶', Done: '✓', Failed: '✗', Dropped: '–' } as const;

function planLines({ plan = [] }: Partial<Run>): readonly string[] {
  return plan.map(({ kind, state, intent }) => `${'  '.repeat(depth[kind])}${marks[state]} ${printable(intent)}`);
}

function runLines({ status }: AgentTask): readonly string[] {
  const run: Partial<Run> = status?.run ?? {};
  const { signals, isolation, experts = [], usage, artifacts = [], patch } = run;
  const { degraded, ...numbers } = signals ?? {};
  return [
    ...section('Plan', planLines(run)),
    ...section(
      'Experts',
      experts.length === 0
        ? []
        : table(
            ['ROLE', 'NAME', 'DIGEST'],
            experts.map(({ role, name, digest = '-' }) => [role, name, digest]),
          ),
    ),
    ...section('Last decision', [...pairs(numbers), ...(degraded ?? []).map((part) => `degraded: ${printable(part)}`)]),
    ...section('Isolation', pairs(isolation ?? {})),
    // Totals have the attempts that have ended, which after the end of the task are all.
    ...section('Usage of this attempt', status?.finished === 'true' && status.totals?.usage !== undefined ? [] : pairs(usage ?? {})),
    ...section('Usage of attempts that have ended', pairs(status?.totals?.usage ?? {})),
    ...section(
      'Artifacts',
      artifacts.length === 0
        ? []
        : table(
            ['NAME', 'BYTES', 'SHA256', 'URI'],
            artifacts.map(({ name, bytes, sha256, uri }) => [name, String(bytes), sha256.slice(0, 12), uri]),
          ),
    ),
    ...section('Patch', patch === undefined || patch === '' ? [] : printableLines(patch)),
  ];
}

function conditionLines({ status }: AgentTask, now: number): readonly string[] {
  const rows = (status?.conditions ?? []).map(({ type, status, reason, lastTransitionTime, message }) => [
    type,
    status,
    reason,
    ageOf(lastTransitionTime, now),
    message,
  ]);
  return rows.length === 0 ? [] : table(['TYPE', 'STATUS', 'REASON', 'SINCE', 'MESSAGE'], rows);
}

function attemptLines({ status }: AgentTask): readonly string[] {
  const rows = (status?.attempts ?? []).map(({ number, class: failure, reason, startedAt, endedAt }) => [
    String(number),
    failure ?? 'none',
    reason ?? '',
    endedAt === undefined ? '-' : duration(Date.parse(endedAt) - Date.parse(startedAt)),
  ]);
  return rows.length === 0 ? [] : table(['NUMBER', 'FAILURE', 'REASON', 'TIME'], rows);
}

function decisionLines({ status }: AgentTask): readonly string[] {
  const rows = (status?.approvals ?? []).map(({ decision, requester, orderRef, action, at, reason }) => [
    decision,
    requester ?? 'nobody in time',
    orderRef?.name ?? '-',
    at,
    action.slice(0, 19),
    reason ?? '-',
  ]);
  return rows.length === 0 ? [] : table(['DECISION', 'BY', 'ORDER', 'AT', 'ACT', 'REASON'], rows);
}

/** The story of a task in lines. Pure; `now` is wall time in ms. */
export function timeline(task: AgentTask, now: number): readonly string[] {
  return [
    ...head(task, now),
    ...section('Waits for you', approvalLines(task, now)),
    ...section('Conditions', conditionLines(task, now)),
    ...runLines(task),
    ...section('Decisions', decisionLines(task)),
    ...section('Attempts that have ended', attemptLines(task)),
  ];
}

/** Prints all that is known about one task. */
export async function show(context: CommandContext, name: string): Promise<void> {
  const task = await taskOf(context, name);
  const idle = task.status?.finished === 'true' ? undefined : await idleOperator(context);
  if (idle !== undefined) context.print(idle);
  for (const line of timeline(task, context.clock.now())) context.print(line);
}
