import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { errnoOf } from '../failure.ts';
import { sysPath, type BytePath } from '../snapshot/index.ts';

/** Something below a folder. Links are told, never followed. */
export interface Walked {
  /** Relative to where the walk began. */
  readonly name: BytePath;
  readonly path: BytePath;
  readonly depth: number;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
}

export interface WalkCounts {
  /** Folders that are closed to us. */
  unreadable: number;
}

/**
 * All that is below a real folder, folder by folder, each sorted by the bytes of its names. What vanishes meanwhile, or is
 * named longer than the system allows, is left out.
 */
export async function* walk(folder: BytePath, maxDepth: number, counts: WalkCounts): AsyncGenerator<Walked> {
  const stack: { readonly path: BytePath; readonly prefix: BytePath; readonly depth: number }[] = [{ path: folder, prefix: '', depth: 1 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { path, prefix, depth } = next;
    const entries = await entriesOf(path, counts);
    const below: (typeof next)[] = [];
    for (const entry of entries) {
      const kind = kindOf(entry);
      const walked = { name: `${prefix}${entry.name}`, path: `${path}/${entry.name}`, depth, kind };
      yield walked;
      if (kind === 'folder' && depth < maxDepth) below.push({ path: walked.path, prefix: `${walked.name}/`, depth: depth + 1 });
    }
    stack.push(...below.reverse());
  }
}

async function entriesOf(path: BytePath, counts: WalkCounts): Promise<readonly Dirent[]> {
  try {
    const entries = await readdir(sysPath(path), { withFileTypes: true, encoding: 'latin1' });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    const code = errnoOf(error) ?? '';
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'ENAMETOOLONG') throw error;
    counts.unreadable += 1;
    return [];
  }
}

function kindOf(entry: Dirent): Walked['kind'] {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'folder';
  return entry.isSymbolicLink() ? 'link' : 'other';
}
