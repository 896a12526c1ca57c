import { existsSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { cacheRoot } from '../cache/index.ts';

/** The kinds of cache entries of this folder; `reproduce` holds leftovers of a killed comparison. */
const imageCacheKinds = [
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
interface EntryAge {
  readonly dir: string;
  readonly lastUsedMs: number;
  /** A build that did not finish, or that runs now. */
  readonly unfinished: boolean;
}

const hour = day / 24;

/** Contents of one name that are kept however often it is built. */
const keepOfName = 8;
/** Longer than any run that was given an entry may need it. */
const keepHours = 6;

const nameOf = ({ dir }: EntryAge): string => basename(dir).replace(/-[0-9a-f]{16}$/, '');

/** Entries of which eight of the same name were used since: each change of the code makes another one. */
function supersededEntries(entries: readonly EntryAge[], nowMs: number): readonly EntryAge[] {
  const finished = entries.filter(({ unfinished }) => !unfinished).sort((a, b) => b.lastUsedMs - a.lastUsedMs);
  const kept = new Map<string, number>();
  return finished.filter((entry) => {
    const before = kept.get(nameOf(entry)) ?? 0;
    kept.set(nameOf(entry), before + 1);
    return before >= keepOfName && nowMs - entry.lastUsedMs > keepHours * hour;
  });
}

/**
 * The entries to delete: finished ones unused for 14 days, or for 6 hours when 8 of the same name were used since; unfinished
 * ones older than a day (no build takes that long).
 */
export function staleEntries(entries: readonly EntryAge[], nowMs: number): readonly EntryAge[] {
  const superseded = new Set(supersededEntries(entries, nowMs));
  return entries.filter((entry) => superseded.has(entry) || nowMs - entry.lastUsedMs > (entry.unfinished ? 1 : 14) * day);
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
