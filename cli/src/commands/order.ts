import { callerName, findCondition, ResourceClient, isApiError } from '@agentfleet/kube';
import type { AgentTaskOrder, AgentTaskOrderSpec, AgentTask } from '@agentfleet/protocol/api';
import { CliError, exitCodes } from '../base/failure.ts';
import { agentTaskOrders, energyModels, expertPools, agentTasks } from '../base/connection.ts';
import { printable } from '@agentfleet/protocol/text';
import { type CommandContext, taskOf } from './command.ts';
import { lookedAt } from './follow.ts';
import { leastOfDigest } from './show.ts';
import { Polling } from './polling.ts';

/** Ms between two looks at an order. */
const pollMs = 250;

/** Gives an order in the caller's own name. */
async function giveOrder(context: CommandContext, spec: Omit<AgentTaskOrderSpec, 'requester'>): Promise<AgentTaskOrder> {
  const { transport, namespace, signal } = context;
  const requester = await callerName(transport, { signal });
  if (requester === '')
    throw new CliError('the API server does not say who you are (SelfSubjectReview); log in with a user that has a name');
  const { taskRef, rolloutRef, type } = spec;
  const metadata = { generateName: `${(taskRef ?? rolloutRef)?.name ?? ''}-${type.toLowerCase()}-`, namespace };
  const order = { metadata, spec: { ...spec, requester } } as unknown as AgentTaskOrder;
  return new ResourceClient(transport, agentTaskOrders).create(order, { fieldManager: 'fleet', signal });
}

function printOrder({ print }: CommandContext, { spec, metadata }: AgentTaskOrder): void {
  print(`  by ${printable(spec.requester)}, AgentTaskOrder ${metadata.name}`);
}

type OrderState = NonNullable<NonNullable<AgentTaskOrder['status']>['state']>;

/**
 * Waits until the order has one of the states and returns it. Throws a CliError when it is refused, gone, or not that far
 * in time; the order stands then and is done as soon as the operator can.
 */
async function follow(
  context: CommandContext,
  order: AgentTaskOrder,
  states: readonly OrderState[],
  timeoutSeconds: number,
): Promise<AgentTaskOrder> {
  const { transport, clock, signal } = context;
  const client = new ResourceClient(transport, agentTaskOrders);
  const { name, namespace } = order.metadata;
  const polling = new Polling(context, { everyMs: pollMs, what: `AgentTaskOrder ${name}`, exists: true });
  const end = clock.monotonic() + timeoutSeconds * 1000;
  for (let state: OrderState | undefined; ;) {
    const seen = await polling.look(async () => ({ found: await client.find({ name, namespace }, { signal }) }));
    const found = seen?.found;
    if (seen !== null && found === undefined)
      throw new CliError(`AgentTaskOrder ${name} is gone; its task was deleted, and the order with it`);
    state = found?.status?.state ?? state;
    if (state === 'Refused') throw new CliError(`AgentTaskOrder ${name} is refused: ${printable(found?.status?.message ?? '')}`);
    if (found !== undefined && state !== undefined && states.includes(state)) return found;
    if (clock.monotonic() >= end)
      throw new CliError(
        `AgentTaskOrder ${name} is ${state ?? 'not answered'} after ${timeoutSeconds} s; it stands, and the operator acts on it when it runs: kubectl get agenttaskorder ${name} -n ${namespace ?? ''}`,
      );
    if (!(await polling.pause(end - clock.monotonic())))
      throw new CliError(`interrupted; AgentTaskOrder ${name} stands, delete it if that is not what you want`);
  }
}

interface OrderFlags {
  readonly reason?: string;
  /** Seconds to wait for the operator. */
  readonly timeout: number;
}

interface DecisionFlags extends OrderFlags {
  /** Digest of the act that is meant; default: the one that waits. */
  readonly action?: string;
  /** The revision that is meant; default: the one that is tried. */
  readonly revision?: string;
}

const verbs = { Approve: 'approved', Reject: 'rejected', Answer: 'answered' } as const;
type Decision = keyof typeof verbs;

/** Returns the act that waits for a person. Throws a CliError with the reason when none does, or not for an order of this type. */
function waiting({ metadata: { name }, status }: AgentTask, type: Decision, action: string | undefined) {
  const pending = status?.run?.pendingApproval;
  if (status?.finished === 'true')
    throw new CliError(`AgentTask ${name} has ended (${status.phase ?? ''}); no act of it waits for a decision`);
  if (pending === undefined)
    throw new CliError(
      `no act of AgentTask ${name} waits for a decision (phase ${status?.phase ?? 'Pending'}); look with "fleet show ${name}"`,
    );
  const decided = status?.approvals?.findLast((approval) => approval.action === pending.action);
  if (decided !== undefined) {
    const by = decided.requester === undefined ? 'because its time was over' : `by ${printable(decided.requester)}`;
    throw new CliError(`the act of AgentTask ${name} was ${decided.decision.toLowerCase()} already, ${by} at ${decided.at}`);
  }
  const [meant, waits] = [action, pending.action].map((digest) => digest?.replace(/^sha256:/, ''));
  if (meant !== undefined && (meant.length < leastOfDigest || waits?.startsWith(meant) !== true))
    throw new CliError(`the act that waits is ${pending.action}, not ${printable(action ?? '')}; look at it with "fleet show ${name}"`);
  const isQuestion = pending.kind === 'Question';
  if (isQuestion && type === 'Approve')
    throw new CliError(`AgentTask ${name} waits with a question; answer it with "fleet answer ${name} <text>"`);
  if (!isQuestion && type === 'Answer')
    throw new CliError(
      `AgentTask ${name} asks no question; decide about what waits with "fleet approve ${name}" or "fleet reject ${name}"`,
    );
  return pending;
}

/** Decides about what waits, or answers it, and waits until the task shows it. */
async function decideTask(context: CommandContext, type: Decision, name: string, flags: DecisionFlags, message?: string): Promise<void> {
  const { action, summary, evidence } = waiting(await taskOf(context, name), type, flags.action);
  const words = { ...(flags.reason !== undefined && { reason: flags.reason }), ...(message !== undefined && { message }) };
  const order = await giveOrder(context, { taskRef: { name }, type, action, ...words });
  await follow(context, order, ['Done'], flags.timeout);
  context.print(`${verbs[type]} for AgentTask ${name}: ${printable(summary)}`);
  if (evidence !== undefined) context.print(`  why it waited: ${printable(evidence)}`);
  context.print(`  act ${action}`);
  printOrder(context, order);
}

/** The rollout that is meant by `expertpool/NAME` or `energymodel/NAME`. Throws a CliError when it is neither. */
function rolloutRefOf(target: string): NonNullable<AgentTaskOrderSpec['rolloutRef']> {
  const [, kind = '', name = ''] = /^(expertpool|energymodel)s?\/(.+)$/i.exec(target) ?? [];
  if (name === '') throw new CliError(`${target} is no rollout; write expertpool/NAME or energymodel/NAME`);
  return { kind: kind.toLowerCase() === 'expertpool' ? 'ExpertPool' : 'EnergyModel', name };
}

/** Decides about the revision that a pool or a model tries, and waits until the operator has the order. */
async function decideRollout(
  context: CommandContext,
  type: 'Approve' | 'Reject',
  target: string,
  { revision, reason, timeout }: DecisionFlags,
): Promise<void> {
  const { transport, namespace, signal } = context;
  const rolloutRef = rolloutRefOf(target);
  const client =
    rolloutRef.kind === 'ExpertPool' ? new ResourceClient(transport, expertPools) : new ResourceClient(transport, energyModels);
  const found = await client.get({ namespace, name: rolloutRef.name }, { signal });
  const { canary, phase } = found.status?.rollout ?? {};
  const { message = '' } = findCondition(found.status?.conditions, 'RolloutHealthy') ?? {};
  if (canary === undefined || phase === 'Idle' || phase === 'Frozen')
    throw new CliError(`no revision of ${target} is being tried: ${printable(message)}; look at status.rollout`);
  if (revision !== undefined && revision !== canary)
    throw new CliError(`the revision that ${target} tries is ${canary}, not ${revision}; look at status.rollout`);
  const words = reason === undefined ? {} : { reason };
  const order = await giveOrder(context, { rolloutRef, revision: canary, type, ...words });
  const done = await follow(context, order, ['Accepted', 'Done'], timeout);
  context.print(`${verbs[type]} for ${target}, revision ${canary}: ${printable(done.status?.message ?? '')}`);
  printOrder(context, order);
}

/** Decides about the act that a task waits with, or the revision that `expertpool/NAME` or `energymodel/NAME` tries. */
const decided =
  (type: 'Approve' | 'Reject') =>
  (context: CommandContext, target: string, flags: DecisionFlags): Promise<void> =>
    (target.includes('/') ? decideRollout : decideTask)(context, type, target, flags);
export const approve = decided('Approve');
export const reject = decided('Reject');

/** Answers the question that a task waits with. */
export function answer(context: CommandContext, name: string, text: string, flags: DecisionFlags): Promise<void> {
  return decideTask(context, 'Answer', name, flags, text);
}

interface TaskOrderFlags extends OrderFlags {
  /** Until what is ordered is done, not only until the operator has taken the order on. */
  readonly wait?: boolean;
}

/** Gives a task that has not ended an order, and waits for it. @throws CliError with `ended` for one that has ended */
async function orderTask(
  context: CommandContext,
  name: string,
  { wait = false, timeout }: TaskOrderFlags,
  spec: Pick<AgentTaskOrderSpec, 'type' | 'message' | 'reason' | 'snapshot'>,
  ended: string,
): Promise<void> {
  const { status } = await taskOf(context, name);
  if (status?.finished === 'true') throw new CliError(`AgentTask ${name} has ended already (${status.phase ?? ''}); ${ended}`);
  const order = await giveOrder(context, { taskRef: { name }, ...spec });
  const done = await follow(context, order, wait ? ['Done'] : ['Accepted', 'Done'], timeout);
  context.print(`AgentTask ${name}: ${printable(done.status?.message ?? '')}`);
  printOrder(context, order);
}

/** Cancels a task: what it changed is undone. Who may write tasks and give no orders does it by `spec.cancel`. */
export async function cancel(context: CommandContext, name: string, flags: TaskOrderFlags): Promise<void> {
  const { reason, wait = false } = flags;
  try {
    await orderTask(context, name, flags, { type: 'Cancel', ...(reason !== undefined && { reason }) }, 'there is nothing to cancel');
  } catch (error) {
    if (!isApiError(error) || error.code !== 403) throw error;
    await patchSpec(context, name, { cancel: 'Rollback' });
    const lost = reason === undefined ? '' : '; the reason is not recorded';
    context.print(`AgentTask ${name}: spec.cancel is Rollback, because you may not give orders${lost}`);
    if (wait) await lookedAt(context, name, flags, () => undefined);
  }
}

interface MessageFlags extends TaskOrderFlags {
  /** Snapshot to which files are put back before. */
  readonly restore?: string;
}

/** Gives the model of a task words, which it gets at its next step. */
export async function message(context: CommandContext, name: string, text: string, flags: MessageFlags): Promise<void> {
  const { restore: snapshot } = flags;
  const spec = { type: 'Message', message: text, ...(snapshot !== undefined && { snapshot }) } as const;
  await orderTask(context, name, flags, spec, 'nobody would read the message');
}

/** Lets a task wait after its current step. */
export const suspend = (context: CommandContext, name: string): Promise<void> => setSuspended(context, name, true);

/** Lets a suspended task go on. */
export const resume = (context: CommandContext, name: string): Promise<void> => setSuspended(context, name, false);

/** Changes fields of a task's spec. @throws CliError where the caller may not */
async function patchSpec({ transport, namespace, signal }: CommandContext, name: string, spec: Partial<AgentTask['spec']>): Promise<void> {
  try {
    await new ResourceClient(transport, agentTasks).patch({ namespace, name }, { spec }, { fieldManager: 'fleet', signal });
  } catch (error) {
    if (!isApiError(error) || error.code !== 403) throw error;
    throw new CliError(
      `you may not change AgentTasks in namespace ${namespace} (${error.message.trim()}); ask for the ClusterRole agentfleet-editor there`,
      exitCodes.forbidden,
    );
  }
}

async function setSuspended(context: CommandContext, name: string, value: boolean): Promise<void> {
  const task = await taskOf(context, name);
  if (task.status?.finished === 'true')
    throw new CliError(`AgentTask ${name} has ended already (${task.status.phase ?? ''}); create it again to do it anew`);
  if (task.spec.suspend === value) return context.print(`AgentTask ${name} ${value ? 'is suspended' : 'is not suspended'} already`);
  await patchSpec(context, name, { suspend: value });
  context.print(
    value
      ? `AgentTask ${name} waits after its current step, its clocks stop; "fleet resume ${name}" lets it go on`
      : `AgentTask ${name} goes on; follow it with "fleet watch ${name}"`,
  );
}
