// sandbox-image/keeper, base: durable replacement of files. May import protocol alone.
import { constants } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errnoOf } from './failure.ts';

/** Makes the names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  await folder.sync();
}

/** Replaces a file. After a loss of power it is the old one or the new one; once this returns it is the new one. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.tmp`;
  try {
    await writeFile(temporary, text, { mode: 0o600, flush: true });
    await rename(temporary, file);
    await syncFolder(dirname(file));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** The result of a call about a path; null when nothing is there. */
export async function ifThere<T>(result: Promise<T>): Promise<T | null> {
  try {
    return await result;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw error;
  }
}
