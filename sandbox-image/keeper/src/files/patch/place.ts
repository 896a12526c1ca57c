import type { Stats } from 'node:fs';
import { KeeperError } from '../../base/failure.ts';
import { displayPath, type BytePath } from '../../snapshot/index.ts';
import { lstatOrNull } from '../tree/resolve.ts';

/** Resolved target of a name in a patch. */
export interface Place {
  readonly path: BytePath;
  /** Null when nothing is there. */
  readonly stat: Stats | null;
  /** Folders on the way that are missing, the outermost first. */
  readonly missing: readonly BytePath[];
}

/**
 * Walks a name below a real folder. No link is followed, not even one that stays inside, so that one file has one name.
 * @throws KeeperError `AF_PATCH_REJECTED`
 */
export async function placeOf(folder: BytePath, name: BytePath): Promise<Place> {
  const missing: BytePath[] = [];
  const parts = name.split('/');
  let path = folder;
  for (const part of parts.slice(0, -1)) {
    path = `${path}/${part}`;
    const stat = missing.length > 0 ? null : await lstatOrNull(path);
    if (stat === null) missing.push(path);
    else if (stat.isSymbolicLink()) throw rejected(name, `it leads through the symbolic link ${displayPath(path)}`);
    else if (!stat.isDirectory()) throw rejected(name, `${displayPath(path)} is not a folder`);
  }
  path = `${path}/${parts.at(-1) ?? ''}`;
  return { path, stat: missing.length > 0 ? null : await lstatOrNull(path), missing };
}

/** Returns a refusal caused by the content of the tree. */
export function rejected(name: BytePath, why: string): KeeperError {
  return new KeeperError('AF_PATCH_REJECTED', `${displayPath(name)}: ${why}`);
}
