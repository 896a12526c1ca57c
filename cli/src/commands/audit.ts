import { readLogFile, readLogOf, type CheckedLog, type LogFlags } from '../evidence/log.ts';
import { CliError } from '../base/failure.ts';
import { printable } from '@agentfleet/protocol/text';
import { traceName } from '@agentfleet/protocol/results';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { artifactOf, ResultsApi } from '../evidence/artifact.ts';
import { objectLines } from '../text/format.ts';
import { taskOf, type CommandContext, type LocalContext } from './command.ts';
import { timelineLines, timelineOf } from '../timeline/index.ts';

const format = 'agentfleet.dev/story/v1';

/** The log that a command names: of a task where there is a connection, a file where there is none. */
async function logOf(context: LocalContext | CommandContext, log: string, flags: LogFlags): Promise<CheckedLog> {
  if (!('transport' in context)) return readLogFile(log, flags, context.signal);
  return readLogOf(await taskOf(context, log), flags, context);
}

function headLine({ trace: { behindRoot, head, records }, root }: CheckedLog): string {
  if (root === undefined) return `head: not given; the last record is ${head.hash}`;
  if (behindRoot === null) return `head: ${root}, not in this log`;
  const later = behindRoot === 0 ? '' : `; only the hash of the file vouches for the ${behindRoot} behind it`;
  return `head: ${root}, record ${records - behindRoot} of ${records}${later}`;
}

/** Lists what is known of a log, in lines. */
function reported(log: CheckedLog): readonly string[] {
  const { trace, from, wrong } = log;
  const { faults, faultCount, clockSteps, read } = trace;
  const [first, last] = [read[0], read.at(-1)];
  const span = first === undefined || last === undefined ? '' : `, ${first.at} to ${last.at}`;
  return [
    `log: ${from}, ${trace.records} records${span}`,
    headLine(log),
    ...clockSteps.map(({ line, seq, why }) => `note: record ${seq} (line ${line}): ${why}`),
    ...(wrong === null ? [] : [`FAULT: it is not the artifact of the task: ${wrong}`]),
    ...faults.map(({ line, seq, why }) => `FAULT: record ${seq} (line ${line}): ${why}`),
    ...(faultCount > faults.length ? [`FAULT: and ${faultCount - faults.length} more`] : []),
  ];
}

/** Checks a log and prints what is wrong with each record that does not hold. @throws CliError when one does not */
export async function auditVerify(context: LocalContext | CommandContext, log: string, flags: LogFlags): Promise<void> {
  const checked = await logOf(context, log, flags);
  const { trace, root, wrong } = checked;
  for (const line of reported(checked)) context.print(printable(line));
  const faults = trace.faultCount + (wrong === null ? 0 : 1);
  if (faults > 0)
    throw new CliError(`the log does not hold, ${faults} fault${faults === 1 ? '' : 's'}; keep this copy, and compare it with another one`);
  if (root !== undefined) context.print('the log holds: nothing was altered, dropped, moved or put in');
  else
    context.print(
      'the log holds as far as it goes; whether its end is missing, or all of it was written anew, only a head shows: name the task, or give --root',
    );
}

/** Returns the records so far of a task that has stored no log yet; undefined: it has, or another place is named. */
async function unstored(
  context: LocalContext | CommandContext,
  name: string,
  { file, endpoint }: LogFlags,
): Promise<readonly AuditRecord[] | undefined> {
  if (!('transport' in context) || file !== undefined || endpoint !== undefined) return undefined;
  const task = await taskOf(context, name);
  if (artifactOf(task, traceName) !== undefined) return undefined;
  const records: AuditRecord[] = [];
  for await (const record of new ResultsApi(context.transport, context.signal).log(task)) records.push(record);
  return records;
}

/** Prints the timeline of a log, also of one that does not hold: then with a warning. */
export async function auditShow(
  context: LocalContext | CommandContext,
  log: string,
  flags: LogFlags & { readonly json?: boolean },
): Promise<void> {
  const early = await unstored(context, log, flags);
  if (early !== undefined) {
    const items = timelineOf(early);
    for (const line of flags.json === true
      ? await objectLines({ format, from: 'the keeper', records: early.length, items }, 'json')
      : timelineLines(items))
      context.print(line);
    return context.warn(`the log of AgentTask ${log} is not stored yet: nothing vouches for these ${early.length} records`);
  }
  const { trace, from, root, wrong } = await logOf(context, log, flags);
  const { read, ok, records, faults, faultCount, clockSteps, head } = trace;
  const items = timelineOf(read);
  if (flags.json === true) {
    const check = { ok: ok && wrong === null, head, root: root ?? null, faultCount, faults, clockSteps, wrong };
    context.print(JSON.stringify({ format, from, records, check, items }, null, 2));
  } else for (const line of timelineLines(items)) context.print(line);
  if (!ok || wrong !== null)
    context.warn(`this log does not hold, do not believe its story; see what is wrong with "fleet audit verify ${log}"`);
}
