import type { RootBytes, SnapshotRoot } from '../base/manifest.ts';
import fs from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { SnapshotError } from '../base/errors.ts';
import { syncDirectory } from './stored.ts';
import { byBytes, bytesOf } from '../base/pathBytes.ts';

/** Paths of a store directory. */
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
