import { loadPack, type PackManifest } from '@agentfleet/eval';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fixedSample, taskHeader, taskLine, verifyTasks } from '@agentfleet/eval/verify';
import { CliError } from '../failure.ts';
import type { LocalContext } from './command.ts';
import { packFolder } from './evalRun.ts';
import { VerifiedFile, type VerifiedTask } from './evalVerified.ts';

export interface EvalVerifyFlags {
  readonly only?: string;
  readonly sample?: number;
  readonly parallel: number;
  readonly out?: string;
  /** Whether tasks that were found sound before, as they are now, count. */
  readonly resume?: boolean;
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

function verifiedOf({ name, version }: PackManifest, found: readonly VerifiedTask[]): Verified {
  return {
    pack: name,
    version,
    tasks: found.length,
    oracles: found.filter(({ oracle }) => oracle).length,
    noOps: found.filter(({ noOp }) => noOp).length,
    refused: found.flatMap(({ id, reasons }) => (reasons.length === 0 ? [] : [{ id, reasons }])),
  };
}

/** Runs oracle, no-op and decoys of tasks. @throws CliError when a task is refused */
export async function evalVerify(
  context: LocalContext,
  name: string,
  { only = '', sample, parallel, out, resume = false }: EvalVerifyFlags,
): Promise<void> {
  const { env, signal, print } = context;
  const { manifest, tasks } = await loadPack(packFolder(name, env));
  const fitting = tasks.filter(({ id }) => id.includes(only));
  const chosen = sample === undefined ? fitting : fixedSample(fitting, sample);
  const file = await VerifiedFile.open(out, manifest, resume);
  const before = chosen.flatMap((task) => file.soundly(task) ?? []);
  const found: VerifiedTask[] = [...before];
  print(taskHeader);
  const onReport = (report: Parameters<typeof taskLine>[0]): void => {
    found.push(file.add(report));
    for (const line of taskLine(report).split('\n')) print(line);
  };
  const left = chosen.filter((task) => file.soundly(task) === undefined);
  await verifyTasks(left, manifest, { parallel, memoryMiB, signal, onReport });
  const verified = verifiedOf(manifest, found);
  if (out !== undefined) await writeFile(join(out, 'verify.json'), `${JSON.stringify(verified, null, 2)}\n`);
  const refused = verified.refused.length;
  print(
    `${manifest.name} ${manifest.version}: ${found.length} tasks, ${refused} refused${before.length > 0 ? `, ${before.length} before` : ''}`,
  );
  if (refused > 0) throw new CliError(`${refused} tasks are refused; the reasons stand below each of them`);
}
