import type { Stats } from 'node:fs';
import { lstat, mkdir, realpath, readlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { errnoOf, KeeperError } from '../../base/failure.ts';
import { ifThere } from '../../base/stored.ts';
import { sysPath, type BytePath } from '../../snapshot/index.ts';

/** A place for a file: an existing real folder inside the roots, and a name in it. */
export interface Place {
  readonly folder: string;
  readonly name: string;
}

/**
 * Resolves the folder of a path, component by component. Symbolic links are followed, the last component's too, only
 * when they lead to a place inside one of the roots. Nothing else may change the tree meanwhile: the caller holds the
 * gate.
 *
 * @param createParents makes missing folders (mode 755)
 * @throws KeeperError `AF_PATH_OUTSIDE_ROOTS`, `AF_FILE_NOT_FOUND`, `AF_FILE_NOT_REGULAR`
 */
export async function resolveInRoots(roots: readonly string[], path: string, createParents: boolean): Promise<Place> {
  const clean = cleanPath(path);
  const root = roots.find((candidate) => clean.startsWith(`${candidate}/`));
  if (root === undefined) throw outside(clean, roots);
  const realRoots = await Promise.all(roots.map((each) => realpath(each)));
  const parts = clean.slice(root.length + 1).split('/');
  const name = parts.pop() ?? '';
  let folder = await realpath(root);
  for (const part of parts) folder = await step(folder, part, realRoots, createParents);
  if ((await kindOf(join(folder, name))) !== 'link') return { folder, name };
  const target = await followLink(join(folder, name), realRoots);
  return { folder: dirname(target), name: basename(target) };
}

/**
 * Resolves the real path of a folder that is a root or is in one; it and its parents are created when missing (mode
 * 755), unless `create` is false. Links and errors as in {@link resolveInRoots}.
 */
export async function resolveFolder(roots: readonly string[], path: string, create = true): Promise<string> {
  const clean = cleanPath(path);
  const root = roots.find((candidate) => clean === candidate || clean.startsWith(`${candidate}/`));
  if (root === undefined) throw outside(clean, roots);
  const realRoots = await Promise.all(roots.map((each) => realpath(each)));
  const parts = clean.slice(root.length + 1).split('/');
  let folder = await realpath(root);
  for (const part of parts.filter((each) => each !== '')) folder = await step(folder, part, realRoots, create);
  return folder;
}

function cleanPath(path: string): string {
  if (path.includes('\0')) throw new KeeperError('AF_INVALID', 'path: it contains a NUL character');
  return posix.normalize(path).replace(/(?<=.)\/$/, '');
}

function outside(path: string, roots: readonly string[]): KeeperError {
  return new KeeperError('AF_PATH_OUTSIDE_ROOTS', `${path} is not inside ${roots.join(' or ')}`);
}

async function step(folder: string, part: string, realRoots: readonly string[], create: boolean): Promise<string> {
  const path = join(folder, part);
  const kind = await kindOf(path);
  if (kind === 'folder') return path;
  if (kind === 'missing' && create) {
    await mkdir(path, { mode: 0o755 });
    return path;
  }
  if (kind === 'missing') throw new KeeperError('AF_FILE_NOT_FOUND', `there is no folder ${path}`);
  if (kind === 'other') throw new KeeperError('AF_FILE_NOT_REGULAR', `${path} is not a folder`, { cure: 'name a file inside a folder' });
  const target = await followLink(path, realRoots);
  if ((await kindOf(target)) !== 'folder') throw new KeeperError('AF_FILE_NOT_REGULAR', `the link ${path} does not lead to a folder`);
  return target;
}

/** Resolves a link. A root itself is a folder, so it is refused later with the right reason. */
async function followLink(path: string, realRoots: readonly string[]): Promise<string> {
  let target: string;
  try {
    target = await realpath(path);
  } catch (error) {
    const code = errnoOf(error);
    if (code !== 'ENOENT' && code !== 'ELOOP' && code !== 'ENOTDIR') throw error;
    throw new KeeperError('AF_FILE_NOT_FOUND', `the link ${path} leads nowhere`, { cause: error });
  }
  if (!isInside(target, realRoots))
    throw new KeeperError('AF_PATH_OUTSIDE_ROOTS', `the link ${path} leads to ${target}, outside the roots`);
  return target;
}

/** Reports whether a real path is one of the roots or below one. */
export function isInside(path: string, realRoots: readonly string[]): boolean {
  return realRoots.some((root) => path === root || path.startsWith(`${root}/`));
}

async function kindOf(path: string): Promise<'folder' | 'link' | 'other' | 'missing'> {
  try {
    const stat = await lstat(path);
    if (stat.isDirectory()) return 'folder';
    return stat.isSymbolicLink() ? 'link' : 'other';
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT') return 'missing';
    const cause = { cause: error };
    if (code === 'ENAMETOOLONG')
      throw new KeeperError('AF_INVALID', `${path.slice(0, 80)}… has a name that no file can have: it is too long`, cause);
    if (code === 'EACCES') throw new KeeperError('AF_FILE_NOT_REGULAR', `${path} is in a folder that its owner has closed`, cause);
    throw error;
  }
}

/**
 * Reports whether an open file is still at this real path: a command that runs beside a reader may have put a link in
 * place between the check of a path and its opening. The kernel's name of the file cannot be forged. False as well when
 * the file was renamed or removed meanwhile.
 */
export async function standsAt(handle: FileHandle, path: Uint8Array | string): Promise<boolean> {
  const name = await readlink(`/proc/self/fd/${handle.fd}`, 'buffer');
  return name.equals(typeof path === 'string' ? Buffer.from(path) : path);
}

/** Returns the stats of what a path leads to, without following a link; null when nothing is there. */
export function lstatOrNull(path: BytePath): Promise<Stats | null> {
  return ifThere(lstat(sysPath(path)));
}
