import type { BytePath } from '../snapshot/index.ts';

/** One entry of an archive; names are bytes. */
export interface TarEntry {
  readonly name: BytePath;
  readonly type: 'file' | 'hardLink' | 'symlink' | 'folder';
  readonly mode: number;
  readonly size: number;
  readonly mtimeNs: bigint;
  /** Target of a link. */
  readonly link?: BytePath;
}

const blockBytes = 512;
const shortName = 100;
const flags = { file: '0', hardLink: '1', symlink: '2', folder: '5' } as const;
const second = 1_000_000_000n;
/** What the field for sizes holds as octal text: 8 GiB. */
const octalSize = 8 ** 11;

/**
 * The header blocks of an entry in GNU format: its names may hold any bytes, which those of pax may not. A pax record goes
 * before it for the parts of a second, which GNU's headers do not have.
 */
export function headerBlocks(entry: TarEntry): Buffer {
  const name = entry.type === 'folder' ? `${entry.name}/` : entry.name;
  const blocks: Buffer[] = [];
  if (entry.mtimeNs % second !== 0n) blocks.push(extra('x', 'pax', paxTime(entry.mtimeNs)));
  if (entry.link !== undefined && entry.link.length > shortName) blocks.push(extra('K', '././@LongLink', `${entry.link}\0`));
  if (name.length > shortName) blocks.push(extra('L', '././@LongLink', `${name}\0`));
  blocks.push(block({ ...entry, name, flag: flags[entry.type] }));
  return Buffer.concat(blocks);
}

/** What follows a content so that the next header begins on a block. */
export function padding(size: number): Buffer {
  return Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes);
}

/** The end of an archive. */
export function endBlocks(): Buffer {
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

interface Fields {
  readonly name: BytePath;
  readonly flag: string;
  readonly mode: number;
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly link?: BytePath;
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
