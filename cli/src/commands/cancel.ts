import { CliError } from '../failure.ts';
import { printable } from '../text/printable.ts';
import { taskOf, type CommandContext } from './command.ts';
import { follow, giveOrder } from './order.ts';

export interface CancelOptions {
  readonly task: string;
  readonly reason?: string;
  /** Until the task has ended, not only until the operator has taken the order on. */
  readonly wait: boolean;
  readonly timeoutSeconds: number;
}

/** Cancels a task: what it changed is undone, as with `spec.cancel` Rollback. */
export async function cancel(context: CommandContext, { task: name, reason, wait, timeoutSeconds }: CancelOptions): Promise<void> {
  const { status } = await taskOf(context, name);
  if (status?.finished === 'true')
    throw new CliError(`AgentTask ${name} has ended already (${status.phase ?? ''}); there is nothing to cancel`);
  const order = await giveOrder(context, { taskRef: { name }, type: 'Cancel', ...(reason === undefined ? {} : { reason }) });
  const done = await follow(context, order, wait ? ['Done'] : ['Accepted', 'Done'], timeoutSeconds);
  context.print(`AgentTask ${name}: ${printable(done.status?.message ?? '')}`);
  context.print(`  by ${printable(order.spec.requester)}, AgentTaskOrder ${order.metadata.name}`);
}
