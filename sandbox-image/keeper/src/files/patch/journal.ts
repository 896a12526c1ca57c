import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PatchReport } from '@agentfleet/protocol/keeper';
import { errnoOf } from '../../failure.ts';
import type { BytePath } from '../../snapshot/index.ts';

/** How one file is changed by renames only: `staged` goes to `target`, what stood at `old` goes to `kept`. */
export interface Step {
  readonly old: BytePath | null;
  /** Where the old file waits until all is done; null when there is none. */
  readonly kept: BytePath | null;
  readonly staged: BytePath | null;
  readonly target: BytePath | null;
}

/** What the store knows of a patch: enough to finish or to undo it after a crash, and to answer it again. */
export interface PatchRecord {
  readonly requestId: string;
  readonly requestDigest: string;
  /** `Committed`: applied, but what it kept for undoing is still there. */
  readonly state: 'Applying' | 'Committed' | 'Done';
  readonly steps: readonly Step[];
  /** Folders that it makes, the outermost first. */
  readonly folders: readonly BytePath[];
  readonly report: PatchReport;
}

const idPattern = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** The patches of this sandbox, `<store>/patches/<requestId>.json`. */
export class PatchJournal {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(folder: string): Promise<PatchJournal> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new PatchJournal(folder);
  }

  async find(requestId: string): Promise<PatchRecord | null> {
    try {
      return JSON.parse(await readFile(this.#path(requestId), 'utf8')) as PatchRecord;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return null;
      throw error;
    }
  }

  /** Written whole or not at all. */
  async write(record: PatchRecord): Promise<void> {
    const path = this.#path(record.requestId);
    const temporary = `${path}.tmp`;
    try {
      await writeFile(temporary, JSON.stringify(record), { mode: 0o600 });
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  async remove(requestId: string): Promise<void> {
    await rm(this.#path(requestId), { force: true });
  }

  /** Patches that were under way when the keeper died. */
  async unfinished(): Promise<readonly PatchRecord[]> {
    const found: PatchRecord[] = [];
    for (const name of await readdir(this.#folder)) {
      const id = name.replace(/\.json$/, '');
      const record = idPattern.test(id) ? await this.find(id) : null;
      if (record !== null && record.state !== 'Done') found.push(record);
    }
    return found;
  }

  #path(requestId: string): string {
    return join(this.#folder, `${requestId}.json`);
  }
}
