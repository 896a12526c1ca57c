import type { AgentTask } from '@agentfleet/protocol/api';
import { CliError } from '../failure.ts';
import { printable } from '../text/printable.ts';
import { taskOf, type CommandContext } from './command.ts';
import { follow, giveOrder } from './order.ts';

export interface AnswerOptions {
  readonly type: 'Approve' | 'Reject' | 'Answer';
  readonly task: string;
  readonly reason?: string;
  /** With Answer: the answer. */
  readonly message?: string;
  /** Digest of the act that is meant; default: the one that waits. */
  readonly action?: string;
  readonly timeoutSeconds: number;
}

const verbs = { Approve: 'approved', Reject: 'rejected', Answer: 'answered' } as const;

/** What waits for a person. Throws a CliError that says why nothing does, or not for an order of this type. */
function waiting({ metadata: { name }, status }: AgentTask, { type, action }: Pick<AnswerOptions, 'type' | 'action'>) {
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
  if (action !== undefined && action !== pending.action)
    throw new CliError(`the act that waits is ${pending.action}, not ${action}; look at it with "fleet show ${name}"`);
  const isQuestion = pending.kind === 'Question';
  if (isQuestion && type === 'Approve')
    throw new CliError(`AgentTask ${name} waits with a question; answer it with "fleet answer ${name} <text>"`);
  if (!isQuestion && type === 'Answer')
    throw new CliError(
      `AgentTask ${name} asks no question; decide about what waits with "fleet approve ${name}" or "fleet reject ${name}"`,
    );
  return pending;
}

/** Decides about what waits, or answers it, and waits until the task says so. */
export async function answer(context: CommandContext, options: AnswerOptions): Promise<void> {
  const { type, task: name, reason, message, timeoutSeconds } = options;
  const task = await taskOf(context, name);
  const { action, summary, evidence } = waiting(task, options);
  const words = { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
  const order = await giveOrder(context, { taskRef: { name }, type, action, ...words });
  await follow(context, order, ['Done'], timeoutSeconds);
  context.print(`${verbs[type]} for AgentTask ${name}: ${printable(summary)}`);
  if (evidence !== undefined) context.print(`  why it waited: ${printable(evidence)}`);
  context.print(`  act ${action}`);
  context.print(`  by ${printable(order.spec.requester)}, AgentTaskOrder ${order.metadata.name}`);
}
