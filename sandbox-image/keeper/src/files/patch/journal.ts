import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
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

  /** Null also for a record that cannot be read: it was never whole on disk, so its patch never began. */
  async find(requestId: string): Promise<PatchRecord | null> {
    try {
      const record = JSON.parse(await readFile(this.#path(requestId), 'utf8')) as PatchRecord | null;
      return Array.isArray(record?.steps) && record.requestId === requestId ? record : null;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError) return null;
      throw error;
    }
  }

  /** Written whole or not at all, and on disk when this returns: what it announces may begin. */
  async write(record: PatchRecord): Promise<void> {
    const path = this.#path(record.requestId);
    const temporary = `${path}.tmp`;
    try {
      await writeDurably(temporary, JSON.stringify(record));
      await rename(temporary, path);
      await syncFolder(this.#folder);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** On disk when this returns: a record that came back would undo what has been made since. */
  async remove(requestId: string): Promise<void> {
    await rm(this.#path(requestId), { force: true });
    await syncFolder(this.#folder);
  }

  /** Patches that were under way when the keeper died; and the ids of records that could not be read, which are removed. */
  async unfinished(): Promise<{ readonly begun: readonly PatchRecord[]; readonly unreadable: readonly string[] }> {
    const begun: PatchRecord[] = [];
    const unreadable: string[] = [];
    for (const name of await readdir(this.#folder)) {
      const id = name.replace(/\.json$/, '');
      if (!idPattern.test(id)) continue;
      const record = await this.find(id);
      if (record === null) unreadable.push(id);
      else if (record.state !== 'Done') begun.push(record);
    }
    for (const id of unreadable) await this.remove(id);
    return { begun, unreadable };
  }

  #path(requestId: string): string {
    return join(this.#folder, `${requestId}.json`);
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const handle = await open(path, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
