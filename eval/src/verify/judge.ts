/** Judges a state of a task: lays it out in a folder of its own, runs the visible check, then the hidden one. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { scriptSeconds, type Change, type Changes, type PackCheck, type PackTask } from '../format/index.ts';
import { runCommand, type Ending } from './command.ts';
import { readCounts, type Counts } from './counts.ts';
import { checkPassed } from './passed.ts';

/** What became of one check. */
export interface CheckVerdict extends Ending {
  readonly counts: Counts | undefined;
}

export interface Verdict {
  /** How the script before the checks ended that did not end well: a set-up, or that of the change. */
  readonly broken?: { readonly script: 'set-up' | 'change' } & Ending;
  readonly visible: CheckVerdict;
  readonly hidden: CheckVerdict;
}

export interface JudgeOptions {
  /** Of all processes of a check together. */
  readonly memoryMiB: number;
  readonly signal: AbortSignal;
}

/** Writes files below a folder, and removes those that are null. */
export async function layOut(folder: string, files: Changes): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    if (content === null) {
      await rm(file, { force: true });
      continue;
    }
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

/** A folder of the machine with what a sandbox has: the workspace, and a home apart from it. */
interface Place {
  readonly workspace: string;
  readonly home: string;
}

async function runCheck({ workspace, home }: Place, check: PackCheck, { memoryMiB, signal }: JudgeOptions): Promise<CheckVerdict> {
  await layOut(workspace, check.files);
  const ending = await runCommand(check.command, workspace, { timeoutSeconds: check.timeoutSeconds, memoryMiB }, signal, home);
  return { ...ending, passed: checkPassed(check, ending), counts: readCounts(ending.output) };
}

/** Prepares the workspace and makes the change; what did not end well, if anything. */
async function make(
  { workspace, home }: Place,
  task: Judged,
  change: Change,
  { memoryMiB, signal }: JudgeOptions,
): Promise<Verdict['broken']> {
  const limits = { timeoutSeconds: scriptSeconds, memoryMiB };
  const run = (script: string): Promise<Ending> => runCommand(['sh', '-euc', script], workspace, limits, signal, home);
  await layOut(workspace, task.files);
  for (const script of task.setup) {
    const ending = await run(script);
    if (!ending.passed) return { script: 'set-up', ...ending };
  }
  await layOut(workspace, change.files);
  if (change.script === undefined) return undefined;
  const ending = await run(change.script);
  return ending.passed ? undefined : { script: 'change', ...ending };
}

/** What judging needs of a task. */
export type Judged = Pick<PackTask, 'files' | 'setup' | 'visible' | 'hidden'>;

/** Nothing is done. */
export const noChange: Change = { files: {} };

/**
 * Judges what a change makes of the workspace, by both checks of a task. Files of the checks are laid over it, so that a changed test
 * does not count; the hidden ones come after the visible check has ended.
 */
export async function judge(task: Judged, change: Change, options: JudgeOptions): Promise<Verdict> {
  const folder = await mkdtemp(join(tmpdir(), 'agentfleet-pack-'));
  try {
    const place = { workspace: join(folder, 'workspace'), home: join(folder, 'home') };
    for (const part of Object.values(place)) await mkdir(part);
    const broken = await make(place, task, change, options);
    const visible = await runCheck(place, task.visible, options);
    const hidden = await runCheck(place, task.hidden, options);
    return { visible, hidden, ...(broken === undefined ? {} : { broken }) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
