import { constants } from 'node:fs';
import { lstat, open, readlink, type FileHandle } from 'node:fs/promises';
import { maxTreeBytes } from '@agentfleet/protocol/keeper';
import { errnoOf, KeeperError } from '../failure.ts';
import { bytesOf, sysPath, type BytePath } from '../snapshot/index.ts';
import { endBlocks, headerBlocks, padding, type TarEntry } from './tarBlocks.ts';
import { walkDepthFirst, type Walked } from './walk.ts';

/** What an archive of a tree will hold. */
export interface TreeMeasure {
  readonly entries: number;
  readonly bytes: number;
  /** Sockets, fifos, devices, and what is closed to the keeper: not in the archive. */
  readonly skipped: number;
}

const chunkBytes = 64 * 1024;
const closed = new Set(['EACCES', 'EPERM', 'ENAMETOOLONG', 'ENOENT', 'ELOOP', 'ENXIO']);

/**
 * Looks through a tree before it is sent: a refusal has to come before the first byte.
 * @throws KeeperError `AF_TOO_LARGE`
 */
export async function measureTree(folder: string): Promise<TreeMeasure> {
  const counts = { unreadable: 0 };
  const linked = new Set<string>();
  let [entries, bytes, skipped] = [0, 0, 0];
  for await (const walked of walkDepthFirst(bytesOf(folder), counts)) {
    const size = await sizeOf(walked, linked);
    if (size === null) skipped += 1;
    else {
      entries += 1;
      bytes += size;
    }
    if (bytes > maxTreeBytes) throw new KeeperError('AF_TOO_LARGE', `${folder} holds over ${maxTreeBytes} bytes`);
  }
  return { entries, bytes, skipped: skipped + counts.unreadable };
}

/**
 * The archive of all that is below a real folder: files, folders and links with their modes, times to the nanosecond, names
 * of any bytes, further names of a file as hard links. Links are sent, not followed. The caller holds the gate to the end.
 */
export async function* packTree(folder: string): AsyncGenerator<Buffer> {
  const names = new Map<string, BytePath>();
  for await (const walked of walkDepthFirst(bytesOf(folder), { unreadable: 0 })) {
    if (walked.kind === 'file') yield* fileBlocks(walked, names);
    else if (walked.kind !== 'other') yield* plainBlocks(walked, walked.kind);
  }
  yield endBlocks();
}

async function* plainBlocks({ name, path }: Walked, kind: 'folder' | 'link'): AsyncGenerator<Buffer> {
  const { mode, mtimeNs } = await lstat(sysPath(path), { bigint: true });
  const entry = { name, mode: Number(mode & 0o777n), size: 0, mtimeNs };
  if (kind === 'folder') yield headerBlocks({ ...entry, type: 'folder' });
  else yield headerBlocks({ ...entry, type: 'symlink', link: await readlink(sysPath(path), 'latin1') });
}

async function* fileBlocks({ name, path }: Walked, names: Map<string, BytePath>): AsyncGenerator<Buffer> {
  const handle = await openOrNull(path);
  if (handle === null) return;
  try {
    const { mode, mtimeNs, size, nlink, dev, ino } = await handle.stat({ bigint: true });
    const entry: TarEntry = { name, type: 'file', mode: Number(mode & 0o777n), size: Number(size), mtimeNs };
    const first = nlink > 1n ? names.get(`${dev}:${ino}`) : undefined;
    if (first !== undefined) {
      yield headerBlocks({ ...entry, type: 'hardLink', size: 0, link: first });
      return;
    }
    if (nlink > 1n) names.set(`${dev}:${ino}`, name);
    yield headerBlocks(entry);
    yield* contentOf(handle, entry.size);
    yield padding(entry.size);
  } finally {
    await handle.close();
  }
}

/** Exactly `size` bytes: a file that has shrunk meanwhile is an error, and ends the archive before its end mark. */
async function* contentOf(handle: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < size;) {
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - position));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) throw new KeeperError('AF_INTERNAL', 'a file shrank while it was read');
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}

async function openOrNull(path: BytePath): Promise<FileHandle | null> {
  try {
    return await open(sysPath(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (closed.has(errnoOf(error) ?? '')) return null;
    throw error;
  }
}

/** Bytes of content that an entry brings; null for what is left out. */
async function sizeOf({ path, kind }: Walked, linked: Set<string>): Promise<number | null> {
  if (kind === 'other') return null;
  if (kind !== 'file') return 0;
  const handle = await openOrNull(path);
  if (handle === null) return null;
  try {
    const { size, nlink, dev, ino } = await handle.stat();
    if (nlink === 1) return size;
    const key = `${dev}:${ino}`;
    const bytes = linked.has(key) ? 0 : size;
    linked.add(key);
    return bytes;
  } finally {
    await handle.close();
  }
}
