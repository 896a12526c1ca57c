/** What a verification has found, kept as it goes, so that one that was cut off goes on with the tasks that are left. */
import { appendFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf, type PackManifest, type PackTask } from '@agentfleet/eval';
import type { TaskReport } from '@agentfleet/eval/verify';

/** A task that was verified: a line of `verified.jsonl`. */
export interface VerifiedTask {
  /** Of the task with all of its checks, and of what its pack asks of it. */
  readonly digest: string;
  readonly id: string;
  /** Whether the oracle passes all checks. */
  readonly oracle: boolean;
  /** Whether the untouched workspace passes the hidden check. */
  readonly noOp: boolean;
  readonly reasons: readonly string[];
}

const digestOfTask = (task: PackTask, { bounds }: PackManifest): string => digestOf([bounds ?? null, task]);

/** A last line that was cut off counts as not there. */
function linesOf(text: string): readonly VerifiedTask[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as VerifiedTask);
}

/** The tasks of a folder of results; without `resume` it begins empty. */
export class VerifiedFile {
  readonly #file: string | undefined;
  readonly #sound: Map<string, VerifiedTask>;
  readonly #manifest: PackManifest;

  private constructor(file: string | undefined, sound: Map<string, VerifiedTask>, manifest: PackManifest) {
    this.#file = file;
    this.#sound = sound;
    this.#manifest = manifest;
  }

  /** Without a folder nothing is kept. */
  static async open(folder: string | undefined, manifest: PackManifest, resume: boolean): Promise<VerifiedFile> {
    if (folder === undefined) return new VerifiedFile(undefined, new Map(), manifest);
    await mkdir(folder, { recursive: true });
    const file = join(folder, 'verified.jsonl');
    const kept = resume ? linesOf(await readFile(file, 'utf8').catch(() => '')) : [];
    await writeFile(file, kept.map((line) => `${JSON.stringify(line)}\n`).join(''));
    return new VerifiedFile(file, new Map(kept.filter(({ reasons }) => reasons.length === 0).map((one) => [one.digest, one])), manifest);
  }

  /** What was found of a task as it is now, if it was found sound. */
  soundly(task: PackTask): VerifiedTask | undefined {
    return this.#sound.get(digestOfTask(task, this.#manifest));
  }

  /** Written when this returns. */
  add({ task, noOp, oracle, refusals }: TaskReport): VerifiedTask {
    const line: VerifiedTask = {
      digest: digestOfTask(task, this.#manifest),
      id: task.id,
      oracle: oracle.visible.passed && oracle.hidden.passed,
      noOp: noOp.hidden.passed,
      reasons: refusals,
    };
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
    return line;
  }
}
