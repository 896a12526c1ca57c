import fs from 'node:fs';
import { errnoOf, isFull } from './errors.ts';

/** The head is only told apart from the newest snapshot after a restore. */
export function readHead(path: string): string | undefined {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** A full store must not fail a restore: without this file only `parent` of a later snapshot may be wrong. */
export function writeHead(path: string, id: string): void {
  try {
    fs.writeFileSync(path, id, { mode: 0o600 });
  } catch (error) {
    if (!isFull(error)) throw error;
    fs.rmSync(path, { force: true });
  }
}
