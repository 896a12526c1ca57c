import { isApiError, ResourceClient } from '@agentfleet/kube';
import { agentTasks } from '../base/connection.ts';
import { CliError } from '../base/failure.ts';
import { taskOf, type CommandContext } from './command.ts';

/** Lets a task wait after its current step, or go on. */
export async function suspend(context: CommandContext, name: string, value: boolean): Promise<void> {
  const { transport, namespace, signal } = context;
  const task = await taskOf(context, name);
  if (task.status?.finished === 'true')
    throw new CliError(`AgentTask ${name} has ended already (${task.status.phase ?? ''}); create it again to do it anew`);
  if (task.spec.suspend === value) return context.print(`AgentTask ${name} ${value ? 'is suspended' : 'is not suspended'} already`);
  try {
    await new ResourceClient(transport, agentTasks).patch(
      { namespace, name },
      { spec: { suspend: value } },
      { fieldManager: 'fleet', signal },
    );
  } catch (error) {
    if (!isApiError(error) || error.code !== 403) throw error;
    throw new CliError(
      `you may not change AgentTasks in namespace ${namespace} (${error.message.trim()}); ask for the ClusterRole agentfleet-editor there`,
    );
  }
  context.print(
    value
      ? `AgentTask ${name} waits after its current step, its clocks stop; "fleet resume ${name}" lets it go on`
      : `AgentTask ${name} goes on; follow it with "fleet watch ${name}"`,
  );
}
