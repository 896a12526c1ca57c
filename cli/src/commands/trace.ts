import { rename, writeFile } from 'node:fs/promises';
import { consentOf, traceOf } from '@agentfleet/agent/trace';
import { ResourceClient } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { consentCovers, type TraceConsent } from '@agentfleet/protocol/trace';
import { traceName } from '@agentfleet/protocol/results';
import { readLogFile, readLogOf, type CheckedLog, type LogFlags } from '../evidence/log.ts';
import { CliError } from '../base/failure.ts';
import { agentTasks } from '../base/connection.ts';
import { taskOf, type CommandContext, type LocalContext } from './command.ts';

interface TraceFlags extends LogFlags {
  /** Every task of the namespace that has ended and left a log; those without consent are left out. */
  readonly all?: boolean;
  /** File that gets the lines; absent: standard output. */
  readonly output?: string;
  /** Intended use of the traces. */
  readonly consent: TraceConsent;
}

/**
 * Writes the traces of finished tasks, or of logs in files where there is no connection, as JSON Lines. The chain of each log is checked
 * first. @throws CliError
 */
export async function trace(context: LocalContext | CommandContext, names: readonly string[], flags: TraceFlags): Promise<void> {
  if (!('transport' in context)) return traceFiles(context, names, flags);
  if (flags.all === true ? names.length > 0 : names.length === 0) throw new CliError('name tasks, or give --all and name none');
  if (flags.file !== undefined && (flags.all === true || names.length > 1))
    throw new CliError('--file is the log of one task; name that one only');
  const tasks = flags.all === true ? await finished(context) : await Promise.all(names.map((name) => taskOf(context, name)));
  const lines: string[] = [];
  for (const task of tasks) {
    const what = `AgentTask ${task.metadata.name}`;
    const log = await readLogOf(task, flags, context);
    if (flags.all === true && withheld(log, flags.consent) !== null)
      context.warn(`left out: ${what} ${withheld(log, flags.consent) ?? ''}`);
    else lines.push(...linesOf(log, what, flags.consent));
  }
  await write(context, lines, flags);
}

async function traceFiles(context: LocalContext, files: readonly string[], flags: TraceFlags): Promise<void> {
  if (flags.root !== undefined && files.length > 1) throw new CliError('--root is the head of one log; name that one only');
  const lines: string[] = [];
  for (const file of files) lines.push(...linesOf(await readLogFile(file, flags, context.signal), file, flags.consent));
  await write(context, lines, flags);
}

async function finished({ transport, namespace, signal }: CommandContext): Promise<readonly AgentTask[]> {
  const all = await new ResourceClient(transport, agentTasks).list({ namespace, signal });
  const ended = all.filter(({ status }) => status?.finished === 'true' && status.run?.artifacts?.some(({ name }) => name === traceName));
  return ended.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Returns the reason why a log may not be used as asked; null: it may. */
function withheld({ trace: { read } }: CheckedLog, asked: TraceConsent): string | null {
  const consent = consentOf(read) ?? 'None';
  if (consentCovers(consent, asked)) return null;
  return `has the trace consent ${consent}, and ${asked} is asked for`;
}

function linesOf(log: CheckedLog, what: string, asked: TraceConsent): readonly string[] {
  const { trace, wrong, root } = log;
  if (!trace.ok || wrong !== null)
    throw new CliError(`the log of ${what} does not hold, and nothing is exported; see "fleet audit verify"`);
  const why = withheld(log, asked);
  if (why !== null)
    throw new CliError(
      `${what} ${why}: nothing is exported. The field is spec.trace.consent of the task, default spec.policy.traceConsent.default of its pool; it is fixed in the log when a task begins, so set it in a new task, or ask for less by --consent`,
    );
  return traceOf(trace.read, root === undefined ? 'Chain' : 'Head').map((line) => JSON.stringify(line));
}

async function write({ print, warn }: LocalContext, lines: readonly string[], { output }: TraceFlags): Promise<void> {
  if (output === undefined) {
    for (const line of lines) print(line);
    return;
  }
  await writeFile(`${output}.part`, lines.map((line) => `${line}\n`).join(''));
  await rename(`${output}.part`, output);
  warn(`${lines.length} lines in ${output}`);
}
