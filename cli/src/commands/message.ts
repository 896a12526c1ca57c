import { CliError } from '../failure.ts';
import { printable } from '../text/printable.ts';
import { taskOf, type CommandContext } from './command.ts';
import { follow, giveOrder } from './order.ts';

export interface MessageOptions {
  readonly task: string;
  readonly message: string;
  /** Until the model has it, not only until the operator has taken the order on. */
  readonly wait: boolean;
  readonly timeoutSeconds: number;
}

/** Gives the model of a task words, which it gets at its next step. */
export async function message(context: CommandContext, { task: name, message: text, wait, timeoutSeconds }: MessageOptions): Promise<void> {
  const { status } = await taskOf(context, name);
  if (status?.finished === 'true')
    throw new CliError(`AgentTask ${name} has ended already (${status.phase ?? ''}); nobody would read the message`);
  const order = await giveOrder(context, { taskRef: { name }, type: 'Message', message: text });
  const done = await follow(context, order, wait ? ['Done'] : ['Accepted', 'Done'], timeoutSeconds);
  context.print(`AgentTask ${name}: ${printable(done.status?.message ?? '')}`);
  context.print(`  by ${printable(order.spec.requester)}, AgentTaskOrder ${order.metadata.name}`);
}
