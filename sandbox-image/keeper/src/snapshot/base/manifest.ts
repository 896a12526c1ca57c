import { decodePath, manifestFormat, manifestLine, type ManifestLine, type SkippedPath } from '@agentfleet/protocol/keeper';
import { createHash } from 'node:crypto';
import { encodePath, type BytePath } from './pathBytes.ts';

/**
 * One path of the tree. `hash` is the raw SHA-256 as 32 chars (one per byte, `''` unless a file):
 * half of the memory of hex. `link` is a symlink's target or, for a file, the first path in sort
 * order of its hard-link group (`''` for that first path itself and for unlinked files).
 * `line` is the canonical text, made once: equal lines ⇔ equal entries.
 */
export interface ManifestEntry extends Pick<ManifestLine, 'type' | 'mode' | 'size'> {
  readonly path: BytePath;
  readonly hash: string;
  /** Nanoseconds since 1970. */
  readonly mtimeNs: bigint;
  readonly link: BytePath;
  /** The user's extended attributes, see `XattrText`; `''` for none. */
  readonly xattrs: string;
  readonly line: string;
}

/** A {@link Manifest} whose digest has not been computed. */
export type Tree = Omit<Manifest, 'digest'>;

/**
 * A tree as data. Entries are sorted bytewise by path `<rootName>/<rel>`; the roots themselves
 * are no entries (the kubelet owns their metadata). Not captured: ACLs, file capabilities and ownership, which
 * a non-root process cannot set.
 */
export interface Manifest {
  /** `sha256:<hex>` of the canonical text. */
  readonly digest: string;
  readonly entries: readonly ManifestEntry[];
  readonly skipped: readonly SkippedPath[];
}

/** Hex form of {@link ManifestEntry.hash}. */
export function hexOf(hash: string): string {
  return Buffer.from(hash, 'latin1').toString('hex');
}

/** Raw form of a hex SHA-256. */
export function hashOf(hex: string): string {
  return Buffer.from(hex, 'hex').toString('latin1');
}

/** Makes an entry with its canonical line `type mode size sha256 mtimeNs path link`, `-` for none, and ` xattrs` where there are any. */
export function makeEntry(fields: Omit<ManifestEntry, 'line' | 'xattrs'> & { readonly xattrs?: string }): ManifestEntry {
  const { path, type, mode, size, hash, mtimeNs, link, xattrs = '' } = fields;
  const sum = hash === '' ? '-' : hexOf(hash);
  const to = link === '' ? '-' : encodePath(link);
  const text = `${type} ${mode.toString(8).padStart(4, '0')} ${size} ${sum} ${mtimeNs} ${encodePath(path)} ${to}${xattrs === '' ? '' : ` ${xattrs}`}`;
  // A concatenation is kept by V8 as a tree of its pieces; a round trip through bytes makes it one flat string.
  return { path, type, mode, size, hash, mtimeNs, link, xattrs, line: Buffer.from(text, 'latin1').toString('latin1') };
}

/** Undoes {@link makeEntry}. Throws on text that is no canonical line. */
export function parseLine(line: string): ManifestEntry {
  const { type, mode, size, sha256, mtimeNs, path, link, xattrs } = manifestLine(line);
  return {
    path: decodePath(path),
    type,
    mode,
    size,
    hash: sha256 === '-' ? '' : hashOf(sha256),
    mtimeNs: BigInt(mtimeNs),
    link: link === '-' && type !== 'l' ? '' : decodePath(link),
    xattrs,
    line,
  };
}

/** The canonical text, whose SHA-256 is the digest. */
export function manifestText(entries: readonly ManifestEntry[]): Buffer {
  return Buffer.from([manifestFormat, ...entries.map(({ line }) => line), ''].join('\n'), 'latin1');
}

/** Undoes {@link manifestText}. Throws on text that is none. */
export function parseManifest(text: Buffer): ManifestEntry[] {
  const [format, ...lines] = text.toString('latin1').split('\n');
  if (format !== manifestFormat || lines.pop() !== '') throw new Error('not a manifest');
  return lines.map(parseLine);
}

/** Returns the counts of a manifest for a snapshot's record. Hard-linked files count once per path. */
export function countsOf({ digest, entries, skipped }: Manifest) {
  let [files, bytes] = [0, 0];
  for (const { type, size } of entries) {
    if (type !== 'f') continue;
    files++;
    bytes += size;
  }
  return { manifestDigest: digest, entries: entries.length, files, bytes, skipped };
}

/** Digest of the canonical text: the format line, then every entry's line, each ended by a newline. */
export function digestOf(entries: readonly ManifestEntry[]): string {
  const hash = createHash('sha256').update(`${manifestFormat}\n`);
  const lines: string[] = [];
  for (const [at, entry] of entries.entries()) {
    lines.push(entry.line);
    if (lines.length < 1024 && at < entries.length - 1) continue;
    hash.update(`${lines.join('\n')}\n`, 'latin1');
    lines.length = 0;
  }
  return `sha256:${hash.digest('hex')}`;
}

/** One path that differs between two sides; at most one side is missing. */
export interface Change {
  readonly path: BytePath;
  readonly from: ManifestEntry | null;
  readonly to: ManifestEntry | null;
}

/** Every difference of two manifests, sorted by path. O(n + m). */
export function compareManifests(from: Tree, to: Tree): Change[] {
  const left = from.entries;
  const right = to.entries;
  const changes: Change[] = [];
  for (let i = 0, j = 0; i < left.length || j < right.length;) {
    const a = left[i];
    const b = right[j];
    if (a !== undefined && b !== undefined && a.path === b.path) {
      if (a !== b && a.line !== b.line) changes.push({ path: a.path, from: a, to: b });
      i++;
      j++;
    } else if (b === undefined || (a !== undefined && a.path < b.path)) {
      if (a !== undefined) changes.push({ path: a.path, from: a, to: null });
      i++;
    } else {
      changes.push({ path: b.path, from: null, to: b });
      j++;
    }
  }
  return changes;
}

/** True when only the modification time differs. */
export function isTimeOnly({ from, to }: Change): boolean {
  if (from === null || to === null || from.xattrs !== to.xattrs) return false;
  return from.type === to.type && from.mode === to.mode && from.hash === to.hash && from.link === to.link;
}

/** True when the two sides have not the same extended attributes, or one side that has some is missing. */
export function changesXattrs({ from, to }: Change): boolean {
  return (from?.xattrs ?? '') !== (to?.xattrs ?? '');
}

/** A root with its path as bytes, sorted by name. Internal to the room. */
export interface RootBytes {
  readonly name: string;
  readonly path: BytePath;
  readonly textPath: string;
}

/** A captured directory. Names are `[a-z][a-z0-9_]*` (they become shell variables); paths are absolute. */
export interface SnapshotRoot {
  readonly name: string;
  readonly path: string;
}
