import { Conversation, type ConversationEntry } from '@agentfleet/protocol/results';
import { CliError, exitCodes } from '../base/failure.ts';
import { ResultsApi, type ArtifactFlags } from '../evidence/artifact.ts';
import { readLogOf } from '../evidence/log.ts';
import { conversationLines } from '../timeline/index.ts';
import { printable } from '@agentfleet/protocol/text';
import { taskOf, type CommandContext } from './command.ts';
import { eventsOf } from './explain.ts';
import { Polling } from './polling.ts';

interface LogsFlags extends ArtifactFlags {
  readonly follow?: boolean;
  /** Events of the cluster, instead of what the sandbox recorded. */
  readonly events?: boolean;
}

const pollMs = 2_000;

/** Prints the conversation of a task and what else happened to it, with `follow` until it has ended, with `events` those of the cluster. */
export async function logs(context: CommandContext, name: string, { follow = false, ...flags }: LogsFlags): Promise<void> {
  if (flags.events === true) return clusterEvents(context, name, follow);
  const { print, transport, signal } = context;
  const task = await taskOf(context, name);
  let isEmpty = true;
  const show = (entry: ConversationEntry | undefined): void => {
    isEmpty &&= entry === undefined;
    for (const line of entry === undefined ? [] : conversationLines(entry)) print(line);
  };
  if (flags.file !== undefined || flags.endpoint !== undefined) {
    const { trace } = await readLogOf(task, flags, context);
    const conversation = new Conversation();
    for (const record of trace.read) show(conversation.read(record));
    return;
  }
  try {
    for await (const entry of new ResultsApi(transport, signal).conversation(task, { follow })) show(entry);
    if (signal.aborted) throw interrupted(name);
    if (isEmpty) context.warn(`nothing is recorded yet (phase ${task.status?.phase ?? 'Pending'}); see "fleet explain ${name}"`);
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== exitCodes.unavailable) throw error;
    context.warn(`${error.message}. What the cluster says of the task instead:`);
    await clusterEvents(context, name, follow);
  }
}

function interrupted(name: string): CliError {
  return new CliError(`interrupted; AgentTask ${name} goes on`, exitCodes.interrupted);
}

async function clusterEvents(context: CommandContext, name: string, follow: boolean): Promise<void> {
  const polling = new Polling(context, { everyMs: pollMs, what: `AgentTask ${name}` });
  const look = async () => {
    const task = await taskOf(context, name);
    return { task, events: await eventsOf(context, task) };
  };
  const seen = new Set<string>();
  for (;;) {
    const looked = await polling.look(look);
    for (const { metadata, type, reason, note = '', eventTime, series } of looked?.events ?? []) {
      const key = `${metadata.uid ?? metadata.name} ${series?.count ?? 1}`;
      if (seen.has(key)) continue;
      seen.add(key);
      context.print(`${eventTime ?? metadata.creationTimestamp ?? ''} ${type} ${reason} ${printable(note)}`);
    }
    if (!follow || looked?.task.status?.finished === 'true') {
      if (seen.size === 0) context.warn('the cluster keeps no events of it, as a rule for an hour');
      return;
    }
    if (!(await polling.pause())) throw interrupted(name);
  }
}
