import type { Header } from 'tar-stream';
import { KeeperError } from '../failure.ts';
import { bytesOf, displayPath, type BytePath } from '../snapshot/index.ts';

/** One checked entry of an archive. Paths are relative, without `.` and `..`; `[]` is the folder itself. */
export interface TreeEntry {
  /** For messages. */
  readonly name: string;
  readonly parts: readonly BytePath[];
  /** Permission bits only: set-uid, set-gid and sticky are dropped. */
  readonly mode: number;
  /** Seconds since 1970; what is before is 0. */
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
