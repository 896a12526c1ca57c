import type { MtimeRecord, SetMeta, XattrAccess, XattrRecord } from '../base/xattrs.ts';
import { chmodNoFollow } from './reach.ts';
import fs from 'node:fs';
import { sysPath, type BytePath } from '../base/pathBytes.ts';
import { errnoOf, isFull, SnapshotError } from '../base/errors.ts';
import type { ManifestEntry } from '../base/manifest.ts';
import { corrupt } from '../objects/segmentLog.ts';
import type { ObjectStore } from '../objects/objectStore.ts';
import type { Slices } from '../base/slices.ts';
import type { RestorePlan } from './plan.ts';
import type { RootMap, Staging } from './staging.ts';

const OWNER_ALL = 0o700;

/**
 * Lets the owner into these roots, whose own modes belong to no snapshot: a command may have closed one. The function
 * returned puts the modes back; nothing below a closed root can be changed after it.
 */
function openRoots(roots: Iterable<BytePath>): () => void {
  const opened = new Map<BytePath, number>();
  for (const root of new Set(roots)) {
    const mode = fs.lstatSync(sysPath(root)).mode & 0o7777;
    if ((mode & OWNER_ALL) === OWNER_ALL) continue;
    try {
      fs.chmodSync(sysPath(root), mode | OWNER_ALL);
      opened.set(root, mode);
    } catch (error) {
      // Not the owner: group rights may still suffice; if not, the first change fails with the reason.
      if (errnoOf(error) !== 'EPERM') throw error;
    }
  }
  return () => {
    for (const [root, mode] of opened) fs.chmodSync(sysPath(root), mode);
  };
}

interface ApplyContext {
  readonly roots: RootMap;
  readonly store: ObjectStore;
  readonly staging: Staging;
  readonly setMeta: SetMeta;
  readonly xattrs?: XattrAccess | undefined;
  readonly slices: Slices;
}

/**
 * Carries a plan out. Every needed content is checked before the first change: normally by
 * writing it next to the tree; when the volume has no room for both, by reading it, and then old
 * contents give way before new ones are written.
 */
export async function applyPlan(plan: RestorePlan, context: ApplyContext): Promise<void> {
  const touched = [plan.remove, plan.mkdir, plan.place, plan.chmod, plan.times, plan.dirModes].flat();
  const closeRoots = openRoots(touched.map(({ path }) => context.roots.rootOf(path)));
  try {
    await applyInside(plan, context);
  } finally {
    context.roots.close();
    closeRoots();
  }
}

async function applyInside(plan: RestorePlan, context: ApplyContext): Promise<void> {
  const { staging, slices } = context;
  for (const entry of plan.place) {
    if (entry.type === 'f' && !context.store.has(entry.hash)) throw corrupt(entry.hash, 'is not in the store');
  }
  try {
    const staged = await stage(plan, context);
    for (const entry of plan.open) chmodNoFollow(context.roots.absolute(entry.path), entry.mode | 0o700);
    for (const { path, directory } of plan.remove) removePath(context.roots.absolute(path), directory);
    for (const entry of plan.mkdir) fs.mkdirSync(context.roots.absolute(entry.path), 0o700);
    for (const entry of plan.place) {
      place(entry, staged.get(entry.path), context);
      if (slices.due()) await slices.pause();
    }
  } finally {
    staging.close();
  }
  for (const entry of plan.chmod) chmodNoFollow(context.roots.absolute(entry.path), entry.mode);
  await setXattrs(plan.xattrs, context);
  await setTimes(plan.times, context);
  for (const entry of plan.dirModes) chmodNoFollow(context.roots.absolute(entry.path), entry.mode);
}

/** Writes all contents to the staging directories; an empty map means that there is no room to. */
async function stage(plan: RestorePlan, context: ApplyContext): Promise<Map<BytePath, BytePath>> {
  const { staging, roots, slices } = context;
  const staged = new Map<BytePath, BytePath>();
  if (plan.place.length === 0) return staged;
  const places = plan.place.map(({ path }) => roots.rootOf(path));
  try {
    staging.open(places);
    for (const entry of plan.place) {
      if (isLinked(entry)) continue;
      staged.set(entry.path, staging.write(entry, roots.rootOf(entry.path), context.store));
      if (slices.due()) await slices.pause();
    }
    return staged;
  } catch (error) {
    if (!isFull(error)) throw error;
    staging.close();
    await checkContents(plan.place, context);
    return new Map();
  }
}

/** Reads all contents and compares them with their hashes. @throws SnapshotError `AF_SNAPSHOT_OBJECT_CORRUPT` */
export async function checkContents(
  entries: readonly ManifestEntry[],
  { store, slices }: Pick<ApplyContext, 'store' | 'slices'>,
): Promise<void> {
  for (const entry of entries) {
    if (entry.type === 'f' && !isLinked(entry)) {
      for (const _ of store.chunks(entry.hash)) if (slices.due()) await slices.pause();
    }
  }
}

function isLinked(entry: ManifestEntry): boolean {
  return entry.type === 'f' && entry.link !== '';
}

/** Puts one file, link or further name in place by rename. */
function place(entry: ManifestEntry, staged: BytePath | undefined, { roots, store, staging }: ApplyContext): void {
  const target = roots.absolute(entry.path);
  const root = roots.rootOf(entry.path);
  if (isLinked(entry)) {
    // Renaming a file over another of its own links does nothing, so the old name is removed first.
    unlinkIfThere(target);
    fs.linkSync(roots.source(entry.link), target);
  } else if (staged !== undefined) {
    fs.renameSync(sysPath(staged), target);
  } else {
    unlinkIfThere(target);
    staging.open([root]);
    fs.renameSync(sysPath(staging.write(entry, root, store)), target);
    staging.close();
  }
}

function unlinkIfThere(path: string | Buffer): void {
  try {
    fs.unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

function removePath(path: string | Buffer, directory: boolean): void {
  if (directory) fs.rmdirSync(path);
  else fs.unlinkSync(path);
}

async function setTimes(entries: readonly ManifestEntry[], { roots, setMeta }: ApplyContext): Promise<void> {
  const record = ({ mtimeNs }: ManifestEntry, path: Buffer): MtimeRecord => ({ path, mtimeNs });
  for (const [root, batch] of batches(entries, roots, record)) await setMeta(root, batch);
}

async function setXattrs(entries: readonly ManifestEntry[], { roots, xattrs }: ApplyContext): Promise<void> {
  const record = ({ xattrs: text }: ManifestEntry, path: Buffer): XattrRecord => ({ path, text });
  for (const [root, batch] of batches(entries, roots, record)) {
    if (xattrs === undefined) throw new Error('this engine was opened without a program that sets extended attributes');
    await xattrs.set(root, batch);
  }
}

/** One batch per root, in the order of the entries. */
function batches<T>(
  entries: readonly ManifestEntry[],
  roots: RootMap,
  record: (entry: ManifestEntry, path: Buffer) => T,
): Map<string, T[]> {
  const all = new Map<string, T[]>();
  for (const entry of entries) {
    const root = Buffer.from(roots.rootOf(entry.path), 'latin1').toString('utf8');
    const batch = all.get(root) ?? [];
    batch.push(record(entry, Buffer.from(roots.relative(entry.path), 'latin1')));
    all.set(root, batch);
  }
  return all;
}

/** The error that a caller receives for a restore that stopped; coded errors as they are. */
export function restoreFailure(id: string, error: unknown): unknown {
  if (error instanceof SnapshotError) return error;
  return new SnapshotError('AF_RESTORE_FAILED', `restoring ${id} stopped: ${String(error)}`, { cause: error });
}
