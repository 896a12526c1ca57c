import fs from 'node:fs';
import type { SetMeta, MtimeRecord } from '../engine.ts';
import { errnoOf, isFull } from '../errors.ts';
import type { ManifestEntry } from '../manifest.ts';
import { corrupt, type ObjectStore } from '../objects/objectStore.ts';
import { sysPath, type BytePath } from '../pathBytes.ts';
import { Slices } from '../slices.ts';
import type { RestorePlan } from './plan.ts';
import { openRoots } from './rootModes.ts';
import type { RootMap, Staging } from './staging.ts';

export interface ApplyContext {
  readonly roots: RootMap;
  readonly store: ObjectStore;
  readonly staging: Staging;
  readonly setMeta: SetMeta;
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
    closeRoots();
  }
}

async function applyInside(plan: RestorePlan, context: ApplyContext): Promise<void> {
  const { staging } = context;
  for (const entry of plan.place) {
    if (entry.type === 'f' && !context.store.has(entry.hash)) throw corrupt(entry.hash, 'is not in the store');
  }
  try {
    const staged = await stage(plan, context);
    // From here on the tree changes: an abort, which would leave it in between, is not obeyed.
    const slices = new Slices();
    for (const entry of plan.open) fs.chmodSync(context.roots.absolute(entry.path), entry.mode | 0o700);
    for (const { path, directory } of plan.remove) removePath(context.roots.absolute(path), directory);
    for (const entry of plan.mkdir) fs.mkdirSync(context.roots.absolute(entry.path), 0o700);
    for (const entry of plan.place) {
      place(entry, staged.get(entry.path), context);
      if (slices.due()) await slices.pause();
    }
  } finally {
    staging.close();
  }
  for (const entry of plan.chmod) fs.chmodSync(context.roots.absolute(entry.path), entry.mode);
  await setTimes(plan.times, context);
  for (const entry of plan.dirModes) fs.chmodSync(context.roots.absolute(entry.path), entry.mode);
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
    // Renaming one name of a file over another of its names does nothing, so the old name goes first.
    unlinkIfThere(target);
    fs.linkSync(roots.absolute(entry.link), target);
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

/** One batch per root, in the plan's order. */
async function setTimes(entries: readonly ManifestEntry[], { roots, setMeta }: ApplyContext): Promise<void> {
  const batches = new Map<BytePath, MtimeRecord[]>();
  for (const { path, mtimeNs } of entries) {
    const root = roots.rootOf(path);
    const batch = batches.get(root) ?? [];
    batch.push({ path: Buffer.from(roots.relative(path), 'latin1'), mtimeNs });
    batches.set(root, batch);
  }
  for (const [root, batch] of batches) await setMeta(Buffer.from(root, 'latin1').toString('utf8'), batch);
}
