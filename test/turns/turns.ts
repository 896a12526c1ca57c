// test, turns: turns among test files of one run, alone or beside others. May import any package.
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMs = 200;

/** Turns among the files of one run, which are processes of their own. */
export class Turns {
  readonly #folder: string;

  constructor(run: string, parent = tmpdir()) {
    this.#folder = join(parent, `agentfleet-turns-${run}`);
  }

  /** Waits while another is alone, or is about to be, and then runs beside others. Resolves to a function that ends it. */
  async beside(): Promise<() => Promise<void>> {
    const mark = join(this.#folder, `beside-${randomUUID()}`);
    await mkdir(this.#folder, { recursive: true });
    for (;;) {
      await writeFile(mark, '');
      // Checked after the mark exists: of two at the same moment, the one that wants to be alone waits for the mark.
      if (!(await this.#names()).includes('alone')) return () => rm(mark, { force: true });
      await rm(mark);
      await sleep(pollMs);
    }
  }

  /** Waits for running ones, and then runs alone. Resolves to a function that ends it. */
  async alone(): Promise<() => Promise<void>> {
    const mark = join(this.#folder, 'alone');
    await mkdir(this.#folder, { recursive: true });
    while (!(await made(mark))) await sleep(pollMs);
    while ((await this.#names()).some((name) => name.startsWith('beside-'))) await sleep(pollMs);
    return () => rm(mark, { recursive: true, force: true });
  }

  #names(): Promise<readonly string[]> {
    return readdir(this.#folder);
  }
}

async function made(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
