import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { errnoOf, KeeperError } from '../failure.ts';

export interface Usage {
  readonly bytes: number;
  /** Folders that are closed to us; what they hold is not counted. */
  readonly unreadable: number;
}

const blockBytes = 512;
const maxEntries = 2_000_000;
const gone = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

/**
 * Bytes on disk below some folders, hard links counted once. Stops early at `stopAbove`: more than
 * too much is not interesting. Entries that vanish under the walk are not there.
 */
export async function measureUsage(folders: readonly string[], stopAbove: number, signal?: AbortSignal): Promise<Usage> {
  const linked = new Set<string>();
  const stack = [...folders];
  let bytes = 0;
  let unreadable = 0;
  let entries = 0;
  for (let folder = stack.pop(); folder !== undefined; folder = stack.pop()) {
    signal?.throwIfAborted();
    const names = await namesOf(folder);
    if (names === null) unreadable += 1;
    for (const name of names ?? []) {
      const path = join(folder, name);
      const size = await sizeOf(path, linked);
      bytes += size.bytes;
      if (size.folder) stack.push(path);
      entries += 1;
      if (bytes > stopAbove || entries > maxEntries) return { bytes: Math.max(bytes, stopAbove + 1), unreadable };
    }
  }
  return { bytes, unreadable };
}

async function namesOf(folder: string): Promise<readonly string[] | null> {
  const names: string[] = [];
  try {
    for await (const entry of await opendir(folder, { bufferSize: 256 })) names.push(entry.name);
  } catch (error) {
    const code = errnoOf(error) ?? '';
    if (code === 'EACCES' || code === 'EPERM') return null;
    if (!gone.has(code)) throw error;
  }
  return names;
}

async function sizeOf(path: string, linked: Set<string>): Promise<{ readonly bytes: number; readonly folder: boolean }> {
  try {
    const { blocks, nlink, dev, ino, isDirectory } = await stats(path);
    if (nlink > 1 && !isDirectory) {
      const key = `${dev}:${ino}`;
      if (linked.has(key)) return { bytes: 0, folder: false };
      linked.add(key);
    }
    return { bytes: blocks * blockBytes, folder: isDirectory };
  } catch (error) {
    if (gone.has(errnoOf(error) ?? '') || errnoOf(error) === 'EACCES') return { bytes: 0, folder: false };
    throw error;
  }
}

async function stats(path: string) {
  const it = await lstat(path);
  return { blocks: it.blocks, nlink: it.nlink, dev: it.dev, ino: it.ino, isDirectory: it.isDirectory() };
}

const watchMs = 2000;

/**
 * The size limit of the roots. `sizeLimit` of a volume is no wall (the kubelet looks every minute
 * or two), so the keeper measures while a command runs and after it.
 */
export class Quota {
  readonly #folders: readonly string[];
  readonly #limit: number | null;
  readonly #clock: Clock;
  #usage: Usage = { bytes: 0, unreadable: 0 };
  #pending: Promise<void> | null = null;

  constructor(folders: readonly string[], limitBytes: number | null, clock: Clock) {
    this.#folders = folders;
    this.#limit = limitBytes;
    this.#clock = clock;
  }

  /** Usage as measured last; more than the limit reads as limit + 1. */
  get usedBytes(): number {
    return this.#usage.bytes;
  }

  get limitBytes(): number | null {
    return this.#limit;
  }

  get exceeded(): boolean {
    return this.#limit !== null && this.#usage.bytes > this.#limit;
  }

  async measure(signal?: AbortSignal): Promise<void> {
    if (this.#limit !== null) this.#usage = await measureUsage(this.#folders, this.#limit, signal);
  }

  /** Measures in the background; whoever asks next waits for it. */
  measureSoon(onError: (error: unknown) => void): void {
    this.#pending ??= this.measure()
      .catch(onError)
      .finally(() => {
        this.#pending = null;
      });
  }

  /** Measures again when the last measurement was over. @throws KeeperError `AF_QUOTA_EXCEEDED` */
  async assertWithin(moreBytes = 0): Promise<void> {
    await this.#pending;
    if (this.#limit === null || this.#usage.bytes + moreBytes <= this.#limit) return;
    await this.measure();
    if (this.#usage.bytes + moreBytes <= this.#limit) return;
    throw new KeeperError('AF_QUOTA_EXCEEDED', `the roots hold ${this.#usage.bytes + moreBytes} bytes or more, ${this.#limit} are allowed`);
  }

  /** Counts bytes that the keeper itself wrote, until the next measurement. */
  charge(bytes: number): void {
    this.#usage = { ...this.#usage, bytes: this.#usage.bytes + bytes };
  }

  /** Measures every 2 s until the signal fires; calls `onExceeded` once and stops when it is over. */
  async watch(onExceeded: () => void, signal: AbortSignal): Promise<void> {
    if (this.#limit === null) return;
    while (!signal.aborted) {
      try {
        await this.#clock.sleep(watchMs, signal);
        await this.measure(signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      if (!this.exceeded) continue;
      onExceeded();
      return;
    }
  }
}
