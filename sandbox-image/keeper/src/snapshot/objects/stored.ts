import fs from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { SnapshotError, errnoOf } from '../base/errors.ts';
import type { RootBytes, SnapshotRoot } from '../base/manifest.ts';
import { byBytes, bytesOf } from '../base/pathBytes.ts';

/** Reads a file of the store; null when it is not there. */
export function readStored(path: string, encoding: 'utf8' | 'latin1' = 'utf8'): string | null {
  try {
    return fs.readFileSync(path, encoding);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Replaces a file of the store by what `write` puts into it. After a loss of power it is the old one or the new one; once this returns
 * it is the new one.
 */
export function replaceStored(path: string, write: (fd: number) => void): void {
  const temporary = `${path}${TEMPORARY}`;
  try {
    const fd = fs.openSync(temporary, 'w', 0o600);
    try {
      write(fd);
      fs.fdatasyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(temporary, path);
    syncDirectory(dirname(path));
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/** End of the name of a file that has not taken its place yet. */
export const TEMPORARY = '.tmp';

/** Makes the names in a directory durable. */
export function syncDirectory(dir: string): void {
  const fd = fs.openSync(dir, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** Smallest allocation unit of file systems. */
const BLOCK = 4096;
const ZEROS = Buffer.alloc(1024 * 1024);

/** True when these bytes (at most 1 MiB) are all zero. */
export function isZero(bytes: Buffer): boolean {
  return bytes.equals(ZEROS.subarray(0, bytes.length));
}

/** Writes a piece at its place in a file, leaving out its blocks of zeros: where nothing was written, a file is zero. */
export function writeSparse(fd: number, piece: Buffer, position: number): void {
  for (let from = 0; from < piece.length;) {
    const hole = isZero(piece.subarray(from, from + BLOCK));
    let to = from + BLOCK;
    while (to < piece.length && isZero(piece.subarray(to, to + BLOCK)) === hole) to += BLOCK;
    const end = Math.min(to, piece.length);
    for (let done = hole ? end : from; done < end;) done += fs.writeSync(fd, piece, done, end - done, position + done);
    from = end;
  }
}

export interface StoreLayout {
  readonly segments: string;
  readonly snapshots: string;
  /** Id of the snapshot that the tree was last at. */
  readonly head: string;
  /** Highest id of a store that was adopted. */
  readonly floor: string;
  /** The log's end after the last collection. */
  readonly logEnd: string;
  readonly statCache: string;
  readonly modeJournal: string;
  readonly stagingJournal: string;
}

/** Creates the directories of a store (mode 0700), durably, and names its files. */
export function openLayout(storeDir: string): StoreLayout {
  const layout = {
    segments: join(storeDir, 'segments'),
    snapshots: join(storeDir, 'snapshots'),
    head: join(storeDir, 'head'),
    floor: join(storeDir, 'floor'),
    logEnd: join(storeDir, 'log-end'),
    statCache: join(storeDir, 'stat-cache'),
    modeJournal: join(storeDir, 'widened-modes'),
    stagingJournal: join(storeDir, 'staging'),
  };
  for (const dir of [layout.segments, layout.snapshots]) fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  for (const dir of [storeDir, dirname(storeDir)]) syncDirectory(dir);
  return layout;
}

/** Files opened below a root are compared with the kernel's names for them, which have no links. */
function realPath(path: string): string {
  return fs.existsSync(path) ? fs.realpathSync(path) : resolve(path);
}

/** Checks the roots, and sorts them by name so that the manifest comes out nearly sorted. */
export function checkRoots(roots: readonly SnapshotRoot[], storeDir: string): RootBytes[] {
  const places = [storeDir, ...roots.map(({ path }) => path)].map((path) => `${resolve(path)}/`);
  const nested = places.some((a, i) => places.some((b, j) => i !== j && a.startsWith(b)));
  if (nested) throw new SnapshotError('AF_SNAPSHOT_CONFIG', `the store and the roots must not contain one another: ${places.join(' ')}`);
  const names = new Set(roots.map(({ name }) => name));
  const bad = roots.find(({ name }) => !/^[a-z][a-z0-9_]*$/.test(name));
  if (bad !== undefined || names.size !== roots.length || roots.length === 0) {
    throw new SnapshotError('AF_SNAPSHOT_CONFIG', 'roots need different names of the form [a-z][a-z0-9_]*');
  }
  const checked = roots.map(({ name, path }) => ({ name, path: bytesOf(realPath(path)), textPath: realPath(path) }));
  return checked.sort((a, b) => byBytes(a.name, b.name));
}
