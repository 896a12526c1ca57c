import { constants } from 'node:fs';
import { mkdir, open, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errnoOf } from '../failure.ts';

/** Where an adoption waits until it is whole. */
export interface Staging {
  readonly folder: string;
  readonly log: string;
  readonly manifest: (id: string) => string;
  /** There from before the first snapshot is placed until the log has been renamed, and a moment longer. */
  readonly mark: string;
}

export function stagingOf(storeDir: string): Staging {
  const folder = join(storeDir, 'adoption');
  return { folder, log: join(folder, 'events.log'), manifest: (id) => join(folder, id), mark: join(folder, 'placing') };
}

/** An empty staging folder. */
export async function beginStaging(staging: Staging): Promise<void> {
  await endStaging(staging);
  await mkdir(staging.folder, { mode: 0o700 });
}

/** Says durably that the engine is going to be given snapshots. The staged log is durable already. */
export async function markPlacing(staging: Staging): Promise<void> {
  await (await open(staging.mark, 'w', 0o600)).close();
  await syncFolder(staging.folder);
  await syncFolder(dirname(staging.folder));
}

/** Removes all of it; the mark first, which without the staged log would mean that it was moved into place. */
export async function endStaging(staging: Staging): Promise<void> {
  await rm(staging.mark, { force: true });
  if (await exists(staging.folder)) await syncFolder(staging.folder);
  await rm(staging.folder, { recursive: true, force: true });
}

/**
 * To be called before log and engine are opened. An adoption that was cut off before its log was moved into place never was:
 * what the engine was given goes with its whole folder, because only a keeper without a snapshot adopts. After that it was.
 */
export async function recoverAdoption(storeDir: string, engineFolder: string): Promise<'None' | 'Done' | 'Undone'> {
  const staging = stagingOf(storeDir);
  const placing = await exists(staging.mark);
  const undone = placing && (await exists(staging.log));
  if (undone) await rm(engineFolder, { recursive: true, force: true });
  await endStaging(staging);
  if (!placing) return 'None';
  return undone ? 'Undone' : 'Done';
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}

export async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  await handle.sync();
}
