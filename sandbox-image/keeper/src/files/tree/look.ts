import { isUtf8 } from 'node:buffer';
import { constants, type Dirent } from 'node:fs';
import { open, type FileHandle, readdir, lstat, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { maxFileBytes, lookBounds, type FileEntry, type FileList, type ListQuery } from '@agentfleet/protocol/keeper';
import { errnoOf, KeeperError } from '../../base/failure.ts';
import { standsAt, resolveInRoots, resolveFolder } from './resolve.ts';
import { sysPath, type BytePath, bytesOf, displayPath } from '../../snapshot/index.ts';

export interface OpenedFile {
  readonly bytes: number;
  /** Exactly `bytes` bytes, also when the file grows meanwhile. */
  readonly content: Readable;
}

/** Opens a regular file inside the roots; a command may run meanwhile. @throws KeeperError */
export async function openFile(roots: readonly string[], path: string): Promise<OpenedFile> {
  const { folder, name } = await resolveInRoots(roots, path, false);
  const handle = await openNoFollow(join(folder, name), path);
  try {
    if (!(await standsAt(handle, join(folder, name)))) throw new KeeperError('AF_FILE_NOT_FOUND', `there is no file ${path} any more`);
    const stat = await handle.stat();
    if (!stat.isFile()) throw new KeeperError('AF_FILE_NOT_REGULAR', `${path} is not a regular file`);
    if (stat.size > maxFileBytes) throw new KeeperError('AF_TOO_LARGE', `${path} has ${stat.size} bytes, ${maxFileBytes} are allowed`);
    if (stat.size === 0) return { bytes: 0, content: handle.createReadStream() };
    return { bytes: stat.size, content: handle.createReadStream({ end: stat.size - 1 }) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The bytes of a regular file inside the roots. @throws KeeperError as {@link openFile}, and `AF_TOO_LARGE` over `maxBytes` */
export async function readWhole(roots: readonly string[], path: string, maxBytes: number): Promise<Buffer> {
  const { bytes, content } = await openFile(roots, path);
  if (bytes <= maxBytes) return buffer(content);
  content.destroy();
  throw new KeeperError('AF_TOO_LARGE', `${path} has ${bytes} bytes, ${maxBytes} can be edited`);
}

async function openNoFollow(real: string, path: string): Promise<FileHandle> {
  try {
    // Non-blocking: opening a fifo without a writer would block a pool thread for ever.
    return await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT') throw new KeeperError('AF_FILE_NOT_FOUND', `there is no file ${path}`, { cause: error });
    if (code === 'ENXIO') throw new KeeperError('AF_FILE_NOT_REGULAR', `${path} is not a regular file`, { cause: error });
    if (code === 'EACCES')
      throw new KeeperError('AF_FILE_NOT_REGULAR', `${path} may not be read`, { cause: error, cure: 'change its mode by a command' });
    throw error;
  }
}

/** Something below a folder. Links are reported, never followed. */
export interface Walked {
  /** Relative to where the walk began. */
  readonly name: BytePath;
  readonly path: BytePath;
  readonly depth: number;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
}

type WalkCounts = { unreadable: number };

/** Folders of installed packages and of git's own files: so many that the files of the project would be lost among them. */
const foreign = /(?:^|\/)(?:\.git|node_modules|\.venv|venv|site-packages|\.tox|\.nox)$/;

/** Names of folders that an answer gives at most. */
const namedFolders = 3;

/** The folders of packages that a walk did not enter, for an answer; without any, nothing. That of git is none of them: nobody looks for it. */
export function leftOutOf(folders: readonly string[]): { readonly leftOut?: readonly string[] } {
  const packages = folders.filter((folder) => !/(?:^|\/)\.git$/.test(folder)).sort();
  return packages.length === 0 ? {} : { leftOut: packages.slice(0, namedFolders) };
}

/**
 * Yields all entries below a real folder, folder by folder, each sorted by the bytes of its names. Entries that vanish
 * meanwhile, or whose names exceed the system's limit, are left out.
 *
 * @param leftOut takes the folders of installed packages, of builds and of git, which are not entered then
 */
export async function* walk(folder: BytePath, maxDepth: number, counts: WalkCounts, leftOut: string[] | null): AsyncGenerator<Walked> {
  const stack: Walked[] = [rootOf(folder)];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const below = await entriesOf(next, counts);
    // Cargo's `target`, and caches: https://bford.info/cachedir/
    if (leftOut !== null && next.depth > 0 && below.some(({ name }) => name === `${next.name}/CACHEDIR.TAG`)) {
      leftOut.push(displayPath(next.name));
      continue;
    }
    yield* below;
    for (const each of below.reverse()) {
      if (each.kind !== 'folder' || each.depth >= maxDepth) continue;
      if (leftOut !== null && foreign.test(each.name)) leftOut.push(displayPath(each.name));
      else stack.push(each);
    }
  }
}

/** Like {@link walk}, with each folder directly before its content, as archives have it. */
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

const defaultEntries = 1000;

/** Lists the entries below a folder inside the roots. The caller holds the gate. @throws KeeperError */
export async function listFiles(roots: readonly string[], { path, depth, limit }: ListQuery): Promise<FileList> {
  const folder = await resolveFolder(roots, path, false);
  const most = Math.min(Number(limit ?? defaultEntries), lookBounds.entries);
  const counts = { unreadable: 0 };
  const leftOut: string[] = [];
  const entries: FileEntry[] = [];
  let truncated = false;
  for await (const walked of walk(bytesOf(folder), Number(depth ?? 1), counts, leftOut)) {
    truncated = entries.length === most;
    if (truncated) break;
    const entry = await entryOf(walked);
    if (entry !== null) entries.push(entry);
  }
  return { path: folder, entries, truncated, unreadable: counts.unreadable, ...leftOutOf(leftOut) };
}

async function entryOf({ name, path, kind }: Walked): Promise<FileEntry | null> {
  try {
    const { size, mode } = await lstat(sysPath(path));
    const entry = { path: displayPath(name), kind, bytes: kind === 'file' ? size : 0, mode: mode & 0o7777 };
    return kind === 'link' ? { ...entry, target: displayPath(await readlink(sysPath(path), 'latin1')) } : entry;
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'EINVAL' || code === 'ENAMETOOLONG') return null;
    throw error;
  }
}

/** Reports whether bytes are binary: they hold a NUL or are not UTF-8. */
export function isBinary(content: Buffer): boolean {
  return content.includes(0) || !isUtf8(content);
}
