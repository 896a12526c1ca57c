import { lstat } from 'node:fs/promises';
import { bytesOf, decodePath } from '@agentfleet/keeper/snapshot/paths';
import type { ChangedPath } from './bundle.ts';

const missing: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR']);

function pathIn(folder: string, path: string): Buffer {
  const below = decodePath(bytesOf(path)).slice(path.indexOf('/') + 1);
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(below, 'latin1')]);
}

/** What one path should be and is not; null when it is as it was. */
async function wrongWith(folder: string, { path, op, type, modeFrom, sizeFrom }: ChangedPath): Promise<string | null> {
  const found = await lstat(pathIn(folder, path)).catch((error: unknown) => {
    if (missing.has((error as { readonly code?: unknown }).code)) return null;
    throw error;
  });
  if (op === 'A') return found === null ? null : 'it is still there';
  if (found === null) return 'it is missing';
  // Of a path whose type changed the description names the new type only.
  if (op === 'T' || found.isSymbolicLink()) return op === 'T' || type === 'l' ? null : 'it is a symbolic link';
  if ((type === 'd') !== found.isDirectory()) return 'it is of another type';
  const mode = (found.mode & 0o7777).toString(8).padStart(4, '0');
  if (mode !== modeFrom) return `its mode is ${mode}, not ${modeFrom ?? 'known'}`;
  return type !== 'f' || found.size === sizeFrom ? null : `it has ${found.size} bytes, not ${sizeFrom ?? 'known'}`;
}

/**
 * Looks at every changed path again, by code that is not the script's: presence, type, mode and size. The contents were
 * compared by the script, by their hashes. Returns the paths that are not as they were.
 */
export async function confirm(ops: readonly ChangedPath[], roots: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const op of ops) {
    const folder = roots.get(op.path.slice(0, op.path.indexOf('/')));
    if (folder === undefined || folder === '') continue;
    const why = await wrongWith(folder, op);
    if (why !== null) wrong.push(`${op.path}: ${why}`);
  }
  return wrong;
}
