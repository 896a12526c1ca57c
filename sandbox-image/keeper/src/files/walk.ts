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
  const stack: Walked[] = [rootOf(folder)];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const below = await entriesOf(next, counts);
    yield* below;
    for (const each of below.reverse()) if (each.kind === 'folder' && each.depth < maxDepth) stack.push(each);
  }
}

/** The same with each folder right before what it holds, as archives have it. */
export async function* walkDepthFirst(folder: BytePath, counts: WalkCounts): AsyncGenerator<Walked> {
  const stack = (await entriesOf(rootOf(folder), counts)).reverse();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    yield next;
    if (next.kind === 'folder') for (const below of (await entriesOf(next, counts)).reverse()) stack.push(below);
  }
}

function rootOf(path: BytePath): Walked {
  return { name: '', path, depth: 0, kind: 'folder' };
}

async function entriesOf(folder: Walked, counts: WalkCounts): Promise<Walked[]> {
  const prefix = folder.name === '' ? '' : `${folder.name}/`;
  return (await direntsOf(folder.path, counts)).map((entry) => ({
    name: `${prefix}${entry.name}`,
    path: `${folder.path}/${entry.name}`,
    depth: folder.depth + 1,
    kind: kindOf(entry),
  }));
}

async function direntsOf(path: BytePath, counts: WalkCounts): Promise<readonly Dirent[]> {
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
