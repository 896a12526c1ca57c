import { loadPack, type PackManifest } from '@agentfleet/eval';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fixedSample, taskHeader, taskLine, verifyTasks, type TaskReport } from '@agentfleet/eval/verify';
import { CliError } from '../failure.ts';
import type { LocalContext } from './command.ts';
import { packFolder } from './evalRun.ts';

export interface EvalVerifyFlags {
  readonly only?: string;
  readonly sample?: number;
  readonly parallel: number;
  readonly out?: string;
}

/** What was verified, as `--out` keeps it. */
export interface Verified {
  readonly pack: string;
  readonly version: string;
  readonly tasks: number;
  /** Whose oracle passes all checks. */
  readonly oracles: number;
  /** Whose hidden check the untouched workspace passes. */
  readonly noOps: number;
  readonly refused: readonly { readonly id: string; readonly reasons: readonly string[] }[];
}

const memoryMiB = 1024;

function verifiedOf({ name, version }: PackManifest, reports: readonly TaskReport[]): Verified {
  return {
    pack: name,
    version,
    tasks: reports.length,
    oracles: reports.filter(({ oracle }) => oracle.visible.passed && oracle.hidden.passed).length,
    noOps: reports.filter(({ noOp }) => noOp.hidden.passed).length,
    refused: reports.flatMap(({ task, refusals }) => (refusals.length === 0 ? [] : [{ id: task.id, reasons: refusals }])),
  };
}

async function keep(folder: string, verified: Verified): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'verify.json'), `${JSON.stringify(verified, null, 2)}\n`);
}

/** Runs oracle, no-op and decoys of tasks. @throws CliError when a task is refused */
export async function evalVerify(
  context: LocalContext,
  name: string,
  { only = '', sample, parallel, out }: EvalVerifyFlags,
): Promise<void> {
  const { env, signal, print } = context;
  const { manifest, tasks } = await loadPack(packFolder(name, env));
  const fitting = tasks.filter(({ id }) => id.includes(only));
  print(taskHeader);
  const onReport = (report: Parameters<typeof taskLine>[0]): void => {
    for (const line of taskLine(report).split('\n')) print(line);
  };
  const chosen = sample === undefined ? fitting : fixedSample(fitting, sample);
  const reports = await verifyTasks(chosen, manifest, { parallel, memoryMiB, signal, onReport });
  const refused = reports.filter(({ refusals }) => refusals.length > 0).length;
  if (out !== undefined) await keep(out, verifiedOf(manifest, reports));
  print(`${manifest.name} ${manifest.version}: ${reports.length} tasks, ${refused} refused`);
  if (refused > 0) throw new CliError(`${refused} tasks are refused; the reasons stand below each of them`);
}
