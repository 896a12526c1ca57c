import fs from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from '../base/errors.ts';

/** Reads a file of the store; null when it is not there. */
export function readStored(path: string, encoding: 'utf8' | 'latin1' = 'utf8'): string | null {
  try {
    return fs.readFileSync(path, encoding);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Replaces a file of the store by what `write` puts into it. After a loss of power it is the old one or the new one; once this returns
 * it is the new one.
 */
export function replaceStored(path: string, write: (fd: number) => void): void {
  const temporary = `${path}${TEMPORARY}`;
  try {
    const fd = fs.openSync(temporary, 'w', 0o600);
    try {
      write(fd);
      fs.fdatasyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(temporary, path);
    syncDirectory(dirname(path));
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/** End of the name of a file that has not taken its place yet. */
export const TEMPORARY = '.tmp';

/** Makes the names in a directory durable. */
export function syncDirectory(dir: string): void {
  const fd = fs.openSync(dir, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
