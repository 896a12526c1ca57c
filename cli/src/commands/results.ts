import { asError } from '@agentfleet/kube';
import { rename, writeFile } from 'node:fs/promises';
import type { AgentTask } from '@agentfleet/protocol/api';
import { artifactOf, obtainIntact, type ArtifactFlags } from '../evidence/artifact.ts';
import { CliError, exitCodes } from '../base/failure.ts';
import { duration, quoted, table, objectLines, type Format } from '../text/format.ts';
import { printable, printableLines } from '@agentfleet/protocol/text';
import { taskOf, type CommandContext } from './command.ts';

/** Writes a file as a whole or not at all. @throws CliError when it cannot be written */
export async function save(path: string, content: string | Uint8Array): Promise<void> {
  try {
    await writeFile(`${path}.part`, content);
    await rename(`${path}.part`, path);
  } catch (error) {
    throw new CliError(`${path} cannot be written (${asError(error).message}); name a file in a folder that is there and may be written`);
  }
}

/** Describes the delivery of the result, for tasks with `spec.output`. Pure. */
function deliveryLines({ status }: AgentTask): readonly string[] {
  const { branch, commit, pullRequest, reason, message } = status?.run?.output ?? {};
  if (branch === undefined) return [];
  const pushed = commit === undefined ? [] : [`branch: ${printable(branch)}, commit ${commit.slice(0, 12)}`];
  const opened = pullRequest === undefined ? [] : [`pull request: ${printable(pullRequest)}`];
  const without = reason === undefined && message !== undefined ? [printable(message)] : [];
  const failed = reason === undefined ? [] : quoted(`not delivered (${reason}): `, message ?? '');
  return ['', ...pushed, ...opened, ...without, ...failed];
}

/** Describes the end of a task: its outcome, its checks, the model's answer, what it used. Pure. */
export function resultLines(task: AgentTask): readonly string[] {
  const { metadata, status } = task;
  const { outcome, answer, usage } = status?.run ?? {};
  const checks = (outcome?.checks ?? []).map(({ name: check, passed, failed, skipped, seconds }) => [
    check,
    String(passed),
    String(failed),
    String(skipped),
    duration(seconds * 1000),
  ]);
  const used = Object.entries(status?.totals?.usage ?? usage ?? {}).map(([what, count]) => `${what} ${String(count)}`);
  return [
    `AgentTask ${metadata.name}: ${status?.phase ?? 'Pending'}${outcome === undefined ? '' : ` (${outcome.reason})`}`,
    ...(outcome?.message === undefined ? [] : quoted('', outcome.message)),
    ...(checks.length === 0 ? [] : ['', ...table(['CHECK', 'PASSED', 'FAILED', 'SKIPPED', 'TIME'], checks)]),
    ...(answer === undefined ? [] : ['', ...printableLines(answer)]),
    ...deliveryLines(task),
    ...(used.length === 0 ? [] : ['', `used: ${printable(used.join(', '))}`]),
  ];
}

interface ReportFlags extends ArtifactFlags {
  readonly output?: Format;
}

/** Prints how a task ended; all that its worker reported where the artifact can be had. */
export async function report(context: CommandContext, name: string, flags: ReportFlags): Promise<void> {
  const task = await taskOf(context, name);
  if (flags.output === 'json' || flags.output === 'yaml' || flags.file !== undefined || flags.endpoint !== undefined) {
    const content = (await obtainIntact(task, 'report.json', flags, context)).toString('utf8');
    const lines = flags.output === 'yaml' ? await objectLines(JSON.parse(content), 'yaml') : content.trimEnd().split('\n');
    for (const line of lines) context.print(context.terminal ? printable(line) : line);
    return;
  }
  for (const line of resultLines(task)) context.print(line);
  if (status(task) !== 'true') context.warn(`AgentTask ${name} has not ended; this is how far it is`);
}

const status = (task: AgentTask): string | undefined => task.status?.finished;

interface ArtifactsFlags extends ArtifactFlags {
  readonly output?: Format;
  readonly to?: string;
}

/** Lists the artifacts of a task, or fetches one and holds it against its hash. */
export async function artifacts(context: CommandContext, name: string, artifact: string | undefined, flags: ArtifactsFlags): Promise<void> {
  const task = await taskOf(context, name);
  const found = task.status?.run?.artifacts ?? [];
  if (artifact !== undefined) {
    if (artifactOf(task, artifact) === undefined && found.length > 0)
      throw new CliError(
        `AgentTask ${name} has no artifact ${artifact}; it has ${found.map((one) => one.name).join(', ')}`,
        exitCodes.notFound,
      );
    const content = await obtainIntact(task, artifact, flags, context);
    const path = flags.to ?? artifact.replaceAll('/', '_');
    await save(path, content);
    return context.print(`${path}: ${content.length} bytes, as the status says`);
  }
  if (flags.output === 'json' || flags.output === 'yaml') for (const line of await objectLines(found, flags.output)) context.print(line);
  else if (found.length === 0) context.print(`AgentTask ${name} has no artifacts; they are stored when an attempt ends`);
  else {
    const rows = found.map(({ name: file, bytes, sha256, uri }) => [file, String(bytes), sha256.slice(0, 12), uri]);
    for (const line of table(['NAME', 'BYTES', 'SHA256', 'URI'], rows)) context.print(line);
  }
}

/** Lists the snapshots in the status of a task, and what was restored. */
export async function snapshots(context: CommandContext, name: string, { output: format }: ReportFlags): Promise<void> {
  const { snapshots: kept, rollback } = (await taskOf(context, name)).status?.run ?? {};
  if (format === 'json' || format === 'yaml') {
    for (const line of await objectLines({ snapshots: kept, rollback }, format)) context.print(line);
    return;
  }
  if (kept === undefined) return context.print(`AgentTask ${name} has no snapshots; the first is taken after set-up`);
  const rows = [
    ['initial', kept.initial, 'after set-up'],
    ['lastGreen', kept.lastGreen, 'all checks passed'],
  ].flatMap(([what = '', id, about = '']) => (id === undefined ? [] : [[what, id, about]]));
  for (const line of table(['WHAT', 'SNAPSHOT', 'ABOUT'], rows)) context.print(line);
  if (kept.checkpointURI !== undefined) context.print(`durable copy: ${printable(kept.checkpointURI)}`);
  if (rollback !== undefined)
    context.print(`restored: ${rollback.snapshot}, ${rollback.verified ? 'verified by its hash' : 'NOT verified'}`);
}
