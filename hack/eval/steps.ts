/**
 * Runs the steps of an evaluation one after the other, each in a separate folder, so that hours of work can be
 * interrupted and resumed.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EvalStep } from './plan.ts';

/** Progress of a step; kept beside its results. */
export interface Progress {
  readonly argv: readonly string[];
  /** Digest of all that its results depend on. */
  readonly inputs: string;
  /** Worked on it, without the times between. */
  readonly minutes: number;
  readonly done: boolean;
}

export interface StepRun {
  readonly name: string;
  /** State of an earlier run: nothing usable, a part, or complete. */
  readonly start: 'Anew' | 'GoOn' | 'Done';
  /** Exit status of its command; 0 when it was done before. */
  readonly status: number;
  readonly minutes: number;
}

export interface StepPorts {
  /** Folder of all results. */
  readonly out: string;
  /** Whether to resume an existing run. */
  readonly resume: boolean;
  /** Processes at a time, of steps that have some. */
  readonly parallel: number;
  readonly signal: AbortSignal;
  readonly inputsOf: (step: EvalStep) => Promise<string>;
  readonly fleet: (argv: readonly string[]) => Promise<number>;
  readonly minutesNow: () => number;
  readonly print: (line: string) => void;
}

const fileOf = (folder: string): string => join(folder, 'progress.json');

/** Undefined: unknown, or cut off while it was written. */
async function progressIn(folder: string): Promise<Progress | undefined> {
  const text = await readFile(fileOf(folder), 'utf8').catch(() => '');
  try {
    return JSON.parse(text) as Progress;
  } catch {
    return undefined;
  }
}

/** Results of another command, pack, weight or source are none of this step. */
export function startOf(before: Progress | undefined, { argv }: EvalStep, inputs: string): StepRun['start'] {
  if (before === undefined || before.inputs !== inputs || before.argv.join('\0') !== argv.join('\0')) return 'Anew';
  return before.done ? 'Done' : 'GoOn';
}

function commandOf({ kind, argv }: EvalStep, folder: string, start: StepRun['start'], parallel: number): readonly string[] {
  const long = kind === 'run' || kind === 'verify';
  return [...argv, ...(long ? ['--parallel', String(parallel)] : []), ...(long && start === 'GoOn' ? ['--resume'] : []), '--out', folder];
}

async function runStep(step: EvalStep, ports: StepPorts): Promise<StepRun> {
  const { name, argv } = step;
  const folder = join(ports.out, name);
  const [before, inputs] = [await progressIn(folder), await ports.inputsOf(step)];
  const start = ports.resume ? startOf(before, step, inputs) : 'Anew';
  const spent = start === 'Anew' ? 0 : (before?.minutes ?? 0);
  if (start === 'Done') return { name, start, status: 0, minutes: spent };
  if (start === 'Anew') await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const began = ports.minutesNow();
  const keep = async (done: boolean): Promise<number> => {
    const minutes = spent + ports.minutesNow() - began;
    await writeFile(fileOf(folder), `${JSON.stringify({ argv, inputs, minutes, done } satisfies Progress)}\n`);
    return minutes;
  };
  await keep(false);
  const command = commandOf(step, folder, start, ports.parallel);
  ports.print(`\nfleet ${command.join(' ')}\n`);
  const status = await ports.fleet(command);
  return { name, start, status, minutes: await keep(status === 0) };
}

/** Every step in turn; one that fails keeps no other from being run. Ends early when the signal is aborted. */
export async function runSteps(steps: readonly EvalStep[], ports: StepPorts): Promise<readonly StepRun[]> {
  const runs: StepRun[] = [];
  for (const step of steps) {
    if (ports.signal.aborted) break;
    runs.push(await runStep(step, ports));
  }
  return runs;
}
