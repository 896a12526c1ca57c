import { type Clock, type Log, asError, deadline } from '@agentfleet/kube';
import type { ArtifactStore, StoredEntry } from '../store/index.ts';
import {
  readEnvelope,
  type ActiveTask,
  type Envelope,
  blobName,
  checkpointNumber,
  checkpointsFolder,
  doomedFolder,
  doomedKey,
  envelopeText,
  folderOf,
  packsFolder,
} from './manifest.ts';
import { DurableFailure } from './failure.ts';
import { removeOutlived, type ActiveTasks } from './retention.ts';
import { read, unlessGone } from './shelf.ts';

interface SweepOptions {
  readonly store: ArtifactStore;
  readonly log: Log;
  readonly worker: string;
  /** Absent: a checkpoint without a time at which it expires stays. */
  readonly active?: ActiveTasks | undefined;
  /** Longest that anything of a task is kept after its end; absent: artifacts stay. */
  readonly mostSeconds?: number | undefined;
  /** Longest time for a writer from loading a pack's index to naming it, ms. */
  readonly graceMs?: number;
}

/** Twenty times the longest checkpoint: see `checkpointMs`. */
export const graceMs = 60 * 60_000;

/**
 * Removes what has outlived the bound of the pool, expired checkpoints of tasks, and the packs that no checkpoint names. A checkpoint of a
 * task that is gone, or ended while no worker had it, expires from now on. A pack is removed in two sweeps: the first marks it, and writers
 * no longer rely on a marked pack; one at least `graceMs` later removes it, unless a checkpoint that was being written then names it by
 * now. All times are those of the store. An unreadable checkpoint ends the sweep: the packs it names are unknown.
 */
export async function sweep({ store, log, worker, active, mostSeconds, graceMs: grace = graceMs }: SweepOptions, signal: AbortSignal) {
  const now = await storeTime(store, worker, signal);
  const isBounded = active !== undefined && mostSeconds !== undefined;
  const outlived = isBounded ? await removeOutlived({ store, active, mostSeconds, log, now }, signal) : 0;
  const { named, removedTasks, open } = await liveNames({ store, log }, now, signal);
  if (active !== undefined) await closeGone({ store, log, active }, open, now, signal);
  const marks = await marksIn(store, signal);
  const blobs = byName(await store.entries(packsFolder, signal));
  let [doomed, removed] = [0, 0];
  for (const [name, entries] of blobs) {
    const mark = marks.get(name);
    const newest = Math.max(...entries.map(({ modifiedAt }) => modifiedAt));
    if (named.has(name)) {
      if (mark !== undefined) await store.remove([doomedKey(name)], signal);
    } else if (mark === undefined) {
      if (now - newest > grace) {
        await store.put(doomedKey(name), '', 'application/octet-stream', signal);
        doomed += 1;
      }
    } else if (now - mark > grace && newest <= mark) {
      await store.remove([...entries.map(({ key }) => key), doomedKey(name)], signal);
      removed += 1;
    }
  }
  for (const name of marks.keys()) if (!blobs.has(name) && !name.startsWith(clockPrefix)) await store.remove([doomedKey(name)], signal);
  return { outlived, removedTasks, doomed, removed };
}

/** Returns when each name was marked. A namespace may be called like the folder: artifacts of its tasks lie in folders of it. */
async function marksIn(store: ArtifactStore, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const entries = await store.entries(doomedFolder, signal);
  const marks = entries.map(({ key, modifiedAt }) => [key.slice(doomedFolder.length), modifiedAt] as const);
  return new Map(marks.filter(([name]) => !name.includes('/')));
}

const clockPrefix = 'clock-';
/** Key of the object that shows all workers of a pool when one began a sweep. */
const sweptKey = doomedKey(`${clockPrefix}swept`);
const readers = 8;

/** Returns the store's own time, from a newly written object. */
async function storeTime(store: ArtifactStore, worker: string, signal: AbortSignal): Promise<number> {
  const key = doomedKey(`${clockPrefix}${worker}`);
  await store.put(key, '', 'application/octet-stream', signal);
  const [entry] = await store.entries(key, signal);
  await store.remove([key], signal);
  if (entry === undefined) throw new DurableFailure('Missing', `${key} was stored and is not there`);
  return entry.modifiedAt;
}

/** Returns the names in all checkpoints; those of expired tasks are removed first. */
async function liveNames(
  { store, log }: Pick<SweepOptions, 'store' | 'log'>,
  now: number,
  signal: AbortSignal,
): Promise<{ readonly named: ReadonlySet<string>; readonly removedTasks: number; readonly open: readonly OpenCheckpoint[] }> {
  const named = new Set<string>();
  let removedTasks = 0;
  const tasks = new Map<string, string[]>();
  for (const key of await store.list(checkpointsFolder, signal)) {
    if (checkpointNumber(key) === null) continue;
    tasks.set(folderOf(key), [...(tasks.get(folderOf(key)) ?? []), key]);
  }
  const left = tasks.entries();
  const open: OpenCheckpoint[] = [];
  const reading = async (): Promise<void> => {
    for (const [folder, keys] of left) {
      const envelopes = await envelopesOf(store, folder, keys, signal);
      const { key = '', expires = null, active } = envelopes.at(-1) ?? {};
      if (expires !== null && Date.parse(expires) < now) {
        log.info('the checkpoints of a task have expired', { folder });
        await store.remove(await store.list(folder, signal), signal);
        removedTasks += 1;
        continue;
      }
      if (expires === null && active !== undefined) open.push({ key, ...active });
      for (const { packs, manifests } of envelopes) for (const name of [...packs, ...manifests]) named.add(name);
    }
  };
  await Promise.all(Array.from({ length: readers }, reading));
  return { named, removedTasks, open };
}

/** The newest checkpoint of a task that was active when it was written. */
interface OpenCheckpoint extends ActiveTask {
  readonly key: string;
}

/**
 * Lets checkpoints expire whose tasks are not active any more: cancelled or deleted while no worker had them, so that nobody wrote a last
 * one. To be called when they have been read: a task that had one is listed since, or is gone.
 */
async function closeGone(
  { store, log, active }: Pick<SweepOptions, 'store' | 'log'> & { readonly active: ActiveTasks },
  open: readonly OpenCheckpoint[],
  now: number,
  signal: AbortSignal,
): Promise<void> {
  const own = open.filter(({ pool }) => pool === active.pool);
  const byNamespace = new Map<string, OpenCheckpoint[]>();
  for (const one of own) byNamespace.set(namespaceOf(one.key), [...(byNamespace.get(namespaceOf(one.key)) ?? []), one]);
  for (const [namespace, checkpoints] of byNamespace) {
    const there = await active.list(namespace, signal);
    if (there === undefined) continue;
    for (const { key, keepSeconds } of checkpoints) {
      if (there.has(uidOf(key))) continue;
      const content = await read(store, key, signal).catch(unlessGone);
      if (content === null) continue;
      const { active: _, ...envelope } = readEnvelope(key, content);
      const expires = new Date(now + keepSeconds * 1000).toISOString();
      await store.put(key, envelopeText({ ...envelope, expires }), 'application/json', signal);
      log.info('the checkpoints of a task that is not active any more will expire', { folder: folderOf(key), expires });
    }
  }
}

const namespaceOf = (key: string): string => key.split('/')[1] ?? '';
const uidOf = (key: string): string => key.split('/')[2] ?? '';

/** Most times that the checkpoints of a task are listed again when they are replaced during the read. */
const looks = 5;

/**
 * Reads the envelopes of a task's checkpoints. When one is gone since the listing there are newer ones, with other
 * names: then all are listed again. @throws DurableFailure when they are replaced faster than they are read
 */
async function envelopesOf(
  store: ArtifactStore,
  folder: string,
  listed: readonly string[],
  signal: AbortSignal,
): Promise<readonly (Envelope & { readonly key: string })[]> {
  let keys = listed;
  for (let look = 1; look <= looks; look += 1) {
    const envelopes: (Envelope & { readonly key: string })[] = [];
    for (const key of keys) {
      const content = await read(store, key, signal).catch(unlessGone);
      if (content !== null) envelopes.push({ ...readEnvelope(key, content), key });
    }
    if (envelopes.length === keys.length) return envelopes;
    keys = (await store.list(folder, signal)).filter((key) => checkpointNumber(key) !== null);
  }
  throw new DurableFailure('Missing', `the checkpoints in ${folder} are replaced faster than they can be read`);
}

function byName(entries: readonly StoredEntry[]): ReadonlyMap<string, readonly StoredEntry[]> {
  const blobs = new Map<string, StoredEntry[]>();
  for (const entry of entries) {
    const name = blobName(entry.key);
    if (name !== null) blobs.set(name, [...(blobs.get(name) ?? []), entry]);
  }
  return blobs;
}

interface SweeperOptions extends Pick<SweepOptions, 'worker' | 'log' | 'active'> {
  readonly clock: Clock;
  /** Returns `mostSeconds` as of now. */
  readonly most?: () => number | undefined;
}

/** Time limit of a sweep, ms; the rest is left for the next one. */
const sweepMs = 10 * 60_000;
/** From one sweep of a store to the next, ms: what one marks the next may remove. */
const everyMs = graceMs + sweepMs;

/** Reports whether a sweep is due, and notes in the store that it begins: it costs as much as there are tasks, and one worker is enough. */
async function isDue(store: ArtifactStore, worker: string, signal: AbortSignal): Promise<boolean> {
  const [last] = await store.entries(sweptKey, signal);
  if (last !== undefined && (await storeTime(store, worker, signal)) - last.modifiedAt < everyMs) return false;
  await store.put(sweptKey, '', 'application/octet-stream', signal);
  return true;
}

/** Sweeps each store once in a while, when a task has ended, whichever worker it ended at. */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #sweptAt = new Map<ArtifactStore, number>();

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /** Sweeps a store unless that was done lately; never rejects. */
  async taskEnded(store: ArtifactStore): Promise<void> {
    const { clock, log, worker, active, most } = this.#options;
    const now = clock.monotonic();
    if (now - (this.#sweptAt.get(store) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
    this.#sweptAt.set(store, now);
    using limit = deadline(clock, sweepMs);
    try {
      if (!(await isDue(store, worker, limit.signal))) return;
      const swept = await sweep({ store, log, worker, active, mostSeconds: most?.() }, limit.signal);
      if (Object.values(swept).some((count) => count > 0)) log.info('what no checkpoint names was swept', { ...swept });
    } catch (error) {
      log.warn('the store was not swept', { error: asError(error).message });
    }
  }
}
