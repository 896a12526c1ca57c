/** Judges a workspace: lays it out in a folder of its own, runs the visible check, then the hidden one. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { PackCheck, PackTask, Tree } from '../format/index.ts';
import { runCommand, type Ending } from './command.ts';
import { readCounts, type Counts } from './counts.ts';

/** What became of one check. */
export interface CheckVerdict extends Ending {
  readonly counts: Counts | undefined;
}

export interface Verdict {
  readonly visible: CheckVerdict;
  readonly hidden: CheckVerdict;
}

export interface JudgeOptions {
  /** Of all processes of a check together. */
  readonly memoryMiB: number;
  readonly signal: AbortSignal;
}

/** Writes files below a folder. */
export async function layOut(folder: string, files: Tree): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

async function runCheck(folder: string, check: PackCheck, { memoryMiB, signal }: JudgeOptions): Promise<CheckVerdict> {
  await layOut(folder, check.files);
  const ending = await runCommand(check.command, folder, { timeoutSeconds: check.timeoutSeconds, memoryMiB }, signal);
  return { ...ending, counts: readCounts(ending.output) };
}

/**
 * Judges a workspace by both checks of a task. Files of the checks are laid over it, so that a changed test does not count; the hidden
 * ones come after the visible check has ended.
 */
export async function judge(task: Pick<PackTask, 'visible' | 'hidden'>, files: Tree, options: JudgeOptions): Promise<Verdict> {
  const folder = await mkdtemp(join(tmpdir(), 'agentfleet-pack-'));
  try {
    await layOut(folder, files);
    const visible = await runCheck(folder, task.visible, options);
    return { visible, hidden: await runCheck(folder, task.hidden, options) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
