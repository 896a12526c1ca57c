import fs from 'node:fs';
import { errnoOf } from '../errors.ts';
import { sysPath, type BytePath } from '../pathBytes.ts';
import type { Below } from '../scan/changes.ts';

/** Names in a layer, and how many there are. */
export interface LayerNames {
  readonly below: Below;
  readonly count: number;
}

/**
 * What a layer says anything of: its files, its directories, and what it hides. Null when it cannot be told,
 * because a directory of it is closed to us or is gone.
 */
export function namesIn(dir: BytePath): LayerNames | null {
  let count = 0;
  const list = (path: BytePath): Below => {
    const names = new Map<BytePath, Below | null>();
    for (const entry of fs.readdirSync(sysPath(path), { encoding: 'latin1', withFileTypes: true })) {
      count++;
      names.set(entry.name, entry.isDirectory() ? list(`${path}/${entry.name}`) : null);
    }
    return names;
  };
  try {
    return { below: list(dir), count };
  } catch (error) {
    if (['EACCES', 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(errnoOf(error))) return null;
    throw error;
  }
}

/** What either of two says anything of. Below a name that is no directory in one of them, anything may be other. */
export function union(a: Below, b: Below): Below {
  if (a.size === 0) return b;
  const all = new Map(a);
  for (const [name, below] of b) {
    const known = all.get(name);
    all.set(name, known === undefined ? below : known === null || below === null ? null : union(known, below));
  }
  return all;
}
