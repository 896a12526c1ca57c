import { existsSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheRoot } from '../cache/index.ts';

/** The kinds of cache entries that this folder makes; `reproduce` holds what a killed comparison left. */
export const imageCacheKinds = [
  'images',
  'image-rootfs',
  'image-node',
  'image-runner',
  'image-s3',
  'image-content',
  'image-modules',
  'image-weights',
  'reproduce',
] as const;

const day = 24 * 60 * 60 * 1000;

/** An entry, and when it was last used: `cached` touches its mark on every hit. */
export interface EntryAge {
  readonly dir: string;
  readonly lastUsedMs: number;
  /** A build that did not finish, or that runs now. */
  readonly unfinished: boolean;
}

/** The entries to delete: finished ones unused for 14 days, unfinished ones older than a day (no build takes that long). */
export function staleEntries(entries: readonly EntryAge[], nowMs: number, keepDays = 14): readonly EntryAge[] {
  return entries.filter((entry) => nowMs - entry.lastUsedMs > (entry.unfinished ? 1 : keepDays) * day);
}

/** Deletes stale entries of images and their parts; returns the folders that went. */
export async function pruneImages(nowMs: number = Date.now(), root: string = cacheRoot()): Promise<readonly string[]> {
  const entries: EntryAge[] = [];
  for (const kind of imageCacheKinds) {
    const folder = join(root, kind);
    const names = existsSync(folder) ? await readdir(folder) : [];
    for (const name of names) entries.push(await entryAge(join(folder, name)));
  }
  const stale = staleEntries(entries, nowMs).map((entry) => entry.dir);
  for (const dir of stale) await rm(dir, { recursive: true, force: true });
  return stale;
}

async function entryAge(dir: string): Promise<EntryAge> {
  const mark = join(dir, '.complete');
  const unfinished = !existsSync(mark);
  return { dir, unfinished, lastUsedMs: (await stat(unfinished ? dir : mark)).mtimeMs };
}
