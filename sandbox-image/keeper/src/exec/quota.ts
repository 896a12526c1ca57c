import { lstat, opendir } from 'node:fs/promises';
import { type Log, errorFields } from '@agentfleet/protocol/log';
import type { Clock } from '../base/clock.ts';
import { KeeperError, errnoOf } from '../base/failure.ts';
import { type BytePath, bytesOf, sysPath, weightOf } from '../snapshot/index.ts';

export interface Usage {
  /** Bytes that a snapshot has to read: of a sparse file its length. */
  readonly bytes: number;
  readonly diskBytes: number;
  /** Paths; long ones count more. */
  readonly entries: number;
}

/** Upper limits; exactly this much is allowed. */
type UsageLimits = Pick<Usage, 'bytes' | 'entries'>;

export const unlimited: UsageLimits = { bytes: Number.POSITIVE_INFINITY, entries: Number.POSITIVE_INFINITY };

const blockBytes = 512;
const gone = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);
/** A path that cannot be named cannot be captured: however little it holds, it is too much. */
const tooDeep: Usage = { bytes: 0, diskBytes: 0, entries: Number.POSITIVE_INFINITY };

/**
 * Measures the content below folders: bytes on disk, and beside them the length of a file where that is more (a snapshot
 * keeps the holes of a sparse file as well), hard links counted once. Stops early once it is over a limit. Entries that vanish
 * during the walk are skipped.
 */
export async function measureUsage(folders: readonly string[], limits: UsageLimits, signal?: AbortSignal): Promise<Usage> {
  const linked = new Set<string>();
  const stack = folders.map(bytesOf);
  let [bytes, diskBytes, entries] = [0, 0, 0];
  try {
    for (let folder = stack.pop(); folder !== undefined; folder = stack.pop()) {
      const names = await namesOf(folder, limits.entries - entries);
      // Reading names is cheap, and the walk must not be slower than a process that creates them.
      if (entries + names.length > limits.entries) return { bytes, diskBytes, entries: limits.entries + 1 };
      for (const name of names) {
        signal?.throwIfAborted();
        const path = `${folder}/${name}`;
        const size = await sizeOf(path, linked);
        bytes += size.bytes;
        diskBytes += size.diskBytes;
        entries += weightOf(path);
        if (size.folder) stack.push(path);
        if (bytes > limits.bytes || entries > limits.entries) return { bytes, diskBytes, entries };
      }
    }
  } catch (error) {
    if (errnoOf(error) === 'ENAMETOOLONG') return tooDeep;
    throw error;
  }
  return { bytes, diskBytes, entries };
}

/** Names in a folder as their bytes, at most one more than `most`; none of a closed one. */
async function namesOf(folder: BytePath, most: number): Promise<readonly BytePath[]> {
  const names: string[] = [];
  try {
    for await (const entry of await opendir(sysPath(folder), { bufferSize: 256, encoding: 'latin1' })) {
      names.push(entry.name);
      if (names.length > most) break;
    }
  } catch (error) {
    const code = errnoOf(error) ?? '';
    if (!gone.has(code) && code !== 'EACCES' && code !== 'EPERM') throw error;
  }
  return names;
}

interface Size extends Pick<Usage, 'bytes' | 'diskBytes'> {
  readonly folder: boolean;
}

const nothing: Size = { bytes: 0, diskBytes: 0, folder: false };

async function sizeOf(path: BytePath, linked: Set<string>): Promise<Size> {
  try {
    const stat = await lstat(sysPath(path));
    const [folder, diskBytes] = [stat.isDirectory(), stat.blocks * blockBytes];
    if (!folder && stat.nlink > 1) {
      const key = `${stat.dev}:${stat.ino}`;
      if (linked.has(key)) return nothing;
      linked.add(key);
    }
    return { bytes: stat.isFile() ? Math.max(diskBytes, stat.size) : diskBytes, diskBytes, folder };
  } catch (error) {
    if (gone.has(errnoOf(error) ?? '') || errnoOf(error) === 'EACCES') return nothing;
    throw error;
  }
}

const watchMs = 2000;

/**
 * The size limit of the roots. `sizeLimit` of a volume is no wall (the kubelet looks every minute
 * or two), so the keeper measures while a command runs and after it.
 */
export class Quota {
  readonly #roots: readonly string[];
  readonly #scratch: readonly string[];
  readonly #limits: UsageLimits;
  readonly #clock: Clock;
  /** Reports that the roots could not be measured. */
  readonly unmeasured: (error: unknown) => void;
  #usage: Usage = { bytes: 0, diskBytes: 0, entries: 0 };
  #pending: Promise<void> | null = null;

  /** `scratch`: counted only while a command runs. No restore clears it, so the next command must be admitted to clear it. */
  constructor(
    folders: { readonly roots: readonly string[]; readonly scratch: readonly string[] },
    limits: UsageLimits,
    clock: Clock,
    logger: Log,
  ) {
    this.unmeasured = (error) => logger.error('the roots could not be measured', errorFields(error));
    this.#roots = folders.roots;
    this.#scratch = folders.scratch;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Usage as measured last. Beyond a limit nothing is counted. */
  get usedBytes(): number {
    return this.#usage.bytes;
  }

  get limitBytes(): number | null {
    return Number.isFinite(this.#limits.bytes) ? this.#limits.bytes : null;
  }

  async measure(): Promise<void> {
    this.#usage = await measureUsage(this.#roots, this.#limits);
  }

  /** Measures in the background; the caller next waits for it. */
  measureSoon(): void {
    this.#pending ??= this.measure()
      .catch(this.unmeasured)
      .finally(() => {
        this.#pending = null;
      });
  }

  /** Measures again when the last measurement was over. @throws KeeperError `AF_QUOTA_EXCEEDED` */
  async assertWithin(moreBytes = 0, moreEntries = 0): Promise<void> {
    await this.#pending;
    if (this.#excess(this.#usage, moreBytes, moreEntries) === null) return;
    await this.measure();
    const excess = this.#excess(this.#usage, moreBytes, moreEntries);
    if (excess !== null) throw new KeeperError('AF_QUOTA_EXCEEDED', `the roots hold ${excess}`);
  }

  /** Lets a write of the keeper in, and counts it. @throws KeeperError `AF_QUOTA_EXCEEDED` */
  async admit(bytes: number, entries: number): Promise<void> {
    await this.assertWithin(bytes, entries);
    this.charge(bytes, entries);
  }

  /** Counts the keeper's own writes until the next measurement. */
  charge(bytes: number, entries = 0): void {
    this.#usage = { ...this.#usage, bytes: this.#usage.bytes + bytes, entries: this.#usage.entries + entries };
  }

  /** Measures every 2 s until the signal fires; calls `onExceeded` once and stops when it is over. */
  async watch(onExceeded: () => void, signal: AbortSignal): Promise<void> {
    for (let excess: string | null = null; !signal.aborted;) {
      try {
        await this.#clock.sleep(watchMs, signal);
        excess = this.#excess(await measureUsage([...this.#roots, ...this.#scratch], this.#limits, signal), 0);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      if (excess === null) continue;
      onExceeded();
      return;
    }
  }

  #excess({ bytes, entries }: Usage, moreBytes: number, moreEntries = 0): string | null {
    if (bytes + moreBytes > this.#limits.bytes) return `${bytes + moreBytes} bytes or more, ${this.#limits.bytes} are allowed`;
    if (entries === tooDeep.entries) return 'a path that is longer than the system allows';
    return entries + moreEntries > this.#limits.entries ? `more than ${this.#limits.entries} paths (long ones count more)` : null;
  }
}
