import fs from 'node:fs';
import { errnoOf } from '../errors.ts';
import { sysPath, type BytePath } from '../pathBytes.ts';

const OWNER_ALL = 0o700;

/**
 * Lets the owner into these roots, whose own modes belong to no snapshot: a command may have closed one. The function
 * returned puts the modes back; nothing below a closed root can be changed after it.
 */
export function openRoots(roots: Iterable<BytePath>): () => void {
  const opened = new Map<BytePath, number>();
  for (const root of new Set(roots)) {
    const mode = fs.lstatSync(sysPath(root)).mode & 0o7777;
    if ((mode & OWNER_ALL) === OWNER_ALL) continue;
    try {
      fs.chmodSync(sysPath(root), mode | OWNER_ALL);
      opened.set(root, mode);
    } catch (error) {
      // Not ours: its group may still let us in; if not, the first change says so.
      if (errnoOf(error) !== 'EPERM') throw error;
    }
  }
  return () => {
    for (const [root, mode] of opened) fs.chmodSync(sysPath(root), mode);
  };
}
