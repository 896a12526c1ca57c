import type { KeeperClient } from '@agentfleet/keeper/client';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { canonicalJson } from '@agentfleet/protocol/text';
import type { ArtifactStore } from '../store/index.ts';
import type { Checkpoint, LogRange, TaskPlaces } from './manifest.ts';
import type { Sealer } from './seal.ts';

type Head = Checkpoint['head'];

interface LogMirrorOptions {
  readonly store: ArtifactStore;
  readonly sealer: Sealer;
  readonly places: TaskPlaces;
  readonly keeper: Pick<KeeperClient, 'events'>;
  readonly epoch: number;
}

/** Bytes of lines in one file at most, unless one line has more. */
const chunkBytes = 8 * 1024 * 1024;
/** Small files that may accumulate before they are merged. */
const maxSmall = 24;

/**
 * Copies an event log to the store, file by file. It begins with the first record: another worker's copy may be the log
 * of a keeper that was cut off and continued alone.
 */
export class LogMirror {
  readonly #options: LogMirrorOptions;
  #head: Head = { seq: 0, hash: '' };
  #files: (LogRange & { readonly bytes: number })[] = [];

  constructor(options: LogMirrorOptions) {
    this.#options = options;
  }

  get ranges(): readonly LogRange[] {
    return this.#files.map(({ from, to, epoch }) => ({ from, to, epoch }));
  }

  /** Stores all records that the keeper has by now. @throws StoreFailure, KeeperRefusal */
  async catchUp(signal: AbortSignal): Promise<Head> {
    await this.#copy(this.#head.seq + 1, signal);
    return this.#head;
  }

  /** Merges many small files. The old ones stay for checkpoints that still name them. */
  async compact(signal: AbortSignal): Promise<void> {
    const first = this.#files.findLastIndex(({ bytes }) => bytes > chunkBytes / 2) + 1;
    const small = this.#files.slice(first);
    if (small.length <= maxSmall) return;
    const kept = this.#files;
    this.#files = this.#files.slice(0, first);
    try {
      await this.#copy(small[0]?.from ?? 1, signal);
    } catch (error) {
      this.#files = kept;
      throw error;
    }
  }

  async #copy(from: number, signal: AbortSignal): Promise<void> {
    let lines: string[] = [];
    let bytes = 0;
    let first = from;
    let last: AuditRecord | null = null;
    const flush = async (): Promise<void> => {
      if (last === null || lines.length === 0) return;
      await this.#store({ from: first, to: last.seq, epoch: this.#options.epoch }, lines.join(''), signal);
      this.#head = last.seq >= this.#head.seq ? { seq: last.seq, hash: last.hash } : this.#head;
      [lines, bytes, first] = [[], 0, last.seq + 1];
    };
    for await (const record of this.#options.keeper.events(from)) {
      signal.throwIfAborted();
      const line = `${canonicalJson(record)}\n`;
      lines.push(line);
      bytes += Buffer.byteLength(line);
      last = record;
      if (bytes >= chunkBytes) await flush();
    }
    await flush();
  }

  async #store(range: LogRange, text: string, signal: AbortSignal): Promise<void> {
    const { store, sealer, places } = this.#options;
    const key = places.log(range);
    const content = Buffer.from(text);
    await store.put(key, await sealer.seal(key, content), 'application/octet-stream', signal);
    this.#files.push({ ...range, bytes: content.length });
  }
}
