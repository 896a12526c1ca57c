import { type BytePath, bytesOf, sysPath, displayPath } from '../snapshot/index.ts';
import { constants } from 'node:fs';
import { lstat, open, readlink, type FileHandle } from 'node:fs/promises';
import { maxTreeBytes } from '@agentfleet/protocol/keeper';
import { errnoOf, KeeperError } from '../base/failure.ts';
import { walkDepthFirst, type Walked } from './tree/look.ts';
import type { Header } from 'tar-stream';

interface TarEntry {
  readonly name: BytePath;
  readonly type: 'file' | 'hardLink' | 'symlink' | 'folder';
  readonly mode: number;
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly link?: BytePath;
}

const blockBytes = 512;
const shortName = 100;
const flags = { file: '0', hardLink: '1', symlink: '2', folder: '5' } as const;
const second = 1_000_000_000n;
/** Size that the field for sizes holds as octal text: 8 GiB. */
const octalSize = 8 ** 11;

/**
 * The header blocks of an entry in GNU format: its names may hold any bytes, which those of pax may not. A pax record
 * before it holds the fraction of the second, which GNU headers lack.
 */
function headerBlocks(entry: TarEntry): Buffer {
  const name = entry.type === 'folder' ? `${entry.name}/` : entry.name;
  const blocks: Buffer[] = [];
  if (entry.mtimeNs % second !== 0n) blocks.push(extra('x', 'pax', paxTime(entry.mtimeNs)));
  if (entry.link !== undefined && entry.link.length > shortName) blocks.push(extra('K', '././@LongLink', `${entry.link}\0`));
  if (name.length > shortName) blocks.push(extra('L', '././@LongLink', `${name}\0`));
  blocks.push(block({ ...entry, name, flag: flags[entry.type] }));
  return Buffer.concat(blocks);
}

function padding(size: number): Buffer {
  return Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes);
}

function endBlocks(): Buffer {
  return Buffer.alloc(2 * blockBytes);
}

function extra(flag: string, name: string, text: string): Buffer {
  const content = Buffer.from(text, 'latin1');
  return Buffer.concat([block({ name, flag, mode: 0o644, size: content.length, mtimeNs: 0n }), content, padding(content.length)]);
}

/** `length mtime=seconds.nanoseconds`, where the length counts itself. */
function paxTime(ns: bigint): string {
  const seconds = ns / second - (ns < 0n && ns % second !== 0n ? 1n : 0n);
  const rest = ` mtime=${seconds}.${String(ns - seconds * second).padStart(9, '0')}\n`;
  let length = rest.length + 2;
  if (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return `${length}${rest}`;
}

interface Fields extends Omit<TarEntry, 'type'> {
  readonly flag: string;
}

function block({ name, flag, mode, size, mtimeNs, link = '' }: Fields): Buffer {
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, digits: number): void =>
    void header.write(value.toString(8).padStart(digits, '0'), at, digits, 'latin1');
  header.write(name.slice(0, shortName), 0, 'latin1');
  octal(mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  if (size < octalSize) octal(size, 124, 11);
  else writeBinary(header, size);
  octal(Math.min(Math.max(0, Number(mtimeNs / second)), octalSize - 1), 136, 11);
  header.write(flag, 156, 'latin1');
  header.write(link.slice(0, shortName), 157, 'latin1');
  header.write('ustar  \0', 257, 'latin1');
  header.fill(' ', 148, 156);
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  header[154] = 0;
  return header;
}

/** Sizes of 8 GiB and more: a set top bit, then the number in bytes. */
function writeBinary(header: Buffer, size: number): void {
  header.writeBigUInt64BE(BigInt(size), 128);
  header[124] = 0x80;
}

const chunkBytes = 64 * 1024;
const closed = new Set(['EACCES', 'EPERM', 'ENAMETOOLONG', 'ENOENT', 'ELOOP', 'ENXIO']);

/**
 * Walks a tree before it is sent: a refusal must come before the first byte. `skipped`: sockets, fifos, devices, and entries that the
 * keeper may not read, which are not in the archive.
 * @throws KeeperError `AF_TOO_LARGE`
 */
export async function measureTree(folder: string) {
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
  await using handle = await openOrNull(path);
  if (handle === null) return;
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

async function sizeOf({ path, kind }: Walked, linked: Set<string>): Promise<number | null> {
  if (kind === 'other') return null;
  if (kind !== 'file') return 0;
  await using handle = await openOrNull(path);
  if (handle === null) return null;
  const { size, nlink, dev, ino } = await handle.stat();
  if (nlink === 1) return size;
  const key = `${dev}:${ino}`;
  const bytes = linked.has(key) ? 0 : size;
  linked.add(key);
  return bytes;
}

/** One checked entry of an archive. Paths are relative, without `.` and `..`; `[]` is the folder itself. */
export interface TreeEntry {
  readonly name: string;
  readonly parts: readonly BytePath[];
  /** Permission bits only: set-uid, set-gid and sticky are dropped. */
  readonly mode: number;
  /** Seconds since 1970; earlier times are 0. */
  readonly mtime: number;
  readonly what:
    | { readonly kind: 'file'; readonly size: number }
    | { readonly kind: 'folder' }
    | { readonly kind: 'symlink'; readonly target: BytePath }
    | { readonly kind: 'hardLink'; readonly source: readonly BytePath[] };
}

const endOfTimes = 253_402_300_799; // year 9999
const lostByte = '\uFFFD';

/**
 * Judges the header of an entry that was read with the file name encoding latin1. Pure.
 * @throws KeeperError `AF_INVALID` naming the entry
 */
export function readEntry(header: Header): TreeEntry {
  const raw = pathBytes(header.name, paxOf(header)['path']);
  const name = displayPath(raw);
  const refuse = (why: string): KeeperError => new KeeperError('AF_INVALID', `entry ${name}: ${why}`);
  if (Object.keys(paxOf(header)).some((key) => key.startsWith('GNU.sparse.'))) throw refuse('sparse files cannot be unpacked');
  const parts = partsOf(raw, refuse);
  const what = kindOf(header, refuse);
  if (parts.length === 0 && what.kind !== 'folder') throw refuse('it has no name');
  return { name, parts, mode: modeOf(header, refuse), mtime: mtimeOf(header, refuse), what };
}

type Refuse = (why: string) => KeeperError;

function paxOf(header: Header): Readonly<Record<string, string | undefined>> {
  return (header.pax ?? {}) as Readonly<Record<string, string>>;
}

/** Names in pax records are UTF-8 text, all others bytes. */
function pathBytes(plain: string, pax: string | undefined): BytePath {
  if (pax === undefined || pax === '') return plain;
  if (!pax.includes(lostByte)) return bytesOf(pax);
  throw new KeeperError('AF_INVALID', `entry ${pax}: a pax record holds a name that is not UTF-8`, {
    cure: 'write the archive in GNU format (tar --format=gnu)',
  });
}

function partsOf(path: BytePath, refuse: Refuse): readonly BytePath[] {
  if (path.includes('\0')) throw refuse('its name contains a NUL character');
  if (path.startsWith('/')) throw refuse('its name is absolute');
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw refuse('its name contains ".."');
  return parts;
}

function kindOf(header: Header, refuse: Refuse): TreeEntry['what'] {
  switch (header.type) {
    case 'file':
    case 'contiguous-file':
      if (!Number.isSafeInteger(header.size)) throw refuse('its size cannot be read');
      return { kind: 'file', size: header.size ?? 0 };
    case 'directory':
      return { kind: 'folder' };
    case 'symlink': {
      const target = targetOf(header);
      if (target === '' || target.includes('\0')) throw refuse('the target of the link is empty or contains a NUL character');
      return { kind: 'symlink', target };
    }
    case 'link': {
      const source = partsOf(targetOf(header), (why) => refuse(`the target of the hard link: ${why}`));
      if (source.length === 0) throw refuse('the hard link has no target');
      return { kind: 'hardLink', source };
    }
    case 'character-device':
    case 'block-device':
    case 'fifo':
    default:
      throw refuse(`${header.type ?? 'an entry of unknown type'} is neither file, folder nor link`);
  }
}

function targetOf(header: Header): BytePath {
  return pathBytes(header.linkname ?? '', paxOf(header)['linkpath']);
}

function modeOf(header: Header, refuse: Refuse): number {
  if (!Number.isSafeInteger(header.mode)) throw refuse('its mode cannot be read');
  return (header.mode ?? 0) & 0o777;
}

function mtimeOf(header: Header, refuse: Refuse): number {
  const pax = paxOf(header)['mtime'];
  const seconds = pax === undefined ? (header.mtime?.getTime() ?? Number.NaN) / 1000 : Number(pax === '' ? Number.NaN : pax);
  if (Number.isFinite(seconds) && seconds <= endOfTimes) return Math.max(0, seconds);
  throw refuse('its modification time cannot be read');
}
