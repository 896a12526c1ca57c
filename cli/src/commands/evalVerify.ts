import { loadPack } from '@agentfleet/eval';
import { fixedSample, taskHeader, taskLine, verifyTasks } from '@agentfleet/eval/verify';
import { CliError } from '../failure.ts';
import type { LocalContext } from './command.ts';
import { packFolder } from './evalRun.ts';

export interface EvalVerifyFlags {
  readonly only?: string;
  readonly sample?: number;
  readonly parallel: number;
}

const memoryMiB = 1024;

/** Runs oracle, no-op and decoys of tasks. @throws CliError when a task is refused */
export async function evalVerify(context: LocalContext, name: string, { only = '', sample, parallel }: EvalVerifyFlags): Promise<void> {
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
  print(`${manifest.name} ${manifest.version}: ${reports.length} tasks, ${refused} refused`);
  if (refused > 0) throw new CliError(`${refused} tasks are refused; the reasons stand below each of them`);
}
