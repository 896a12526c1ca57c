import { constants } from 'node:fs';
import { open, rename, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AuditRecord, AuditReport, AuditType } from '@agentfleet/protocol/keeper';
import { timestamp, type Clock } from '../base/clock.ts';
import { asKeeperError, KeeperError, messageOf } from '../base/failure.ts';
import { readLines } from '../base/lines.ts';
import { syncFolder } from '../base/stored.ts';
import { nextRecord, recordLine, type ChainHead, OffsetIndex } from './chain.ts';
import { verifyLog } from './inspect.ts';

interface EventLogOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly epoch: () => number;
  /** Sees every record that the file already holds. */
  readonly onRecord?: (record: AuditRecord) => void;
  /** Called when the disk is full, before the next try: frees the reserve. */
  readonly onDiskFull?: () => Promise<void>;
}

interface Pending {
  readonly entry: Omit<AuditRecord, 'seq' | 'prev' | 'hash'>;
  /** Set for intents: they must be on disk before anything acts. */
  readonly settle?: { resolve(record: AuditRecord): void; reject(error: unknown): void };
}

const batchRecords = 128;
const retryMs = 1000;

/**
 * The append-only, hash-chained event log. `commit` is for intents: it returns when the record is on disk. `append` is
 * for results: they are written soon, retried when the disk is full, and synced with the next intent. A log with a
 * broken chain accepts nothing.
 */
export class EventLog {
  readonly #options: EventLogOptions;
  #handle: FileHandle;
  #offsets: OffsetIndex;
  #head: ChainHead;
  #end: number;
  #broken: { readonly seq: number; readonly why: string } | null;
  #queue: Pending[] = [];
  #draining: Promise<void> | null = null;
  #stopRetry: (() => void) | null = null;
  #closed = false;

  private constructor(options: EventLogOptions, handle: FileHandle, check: AuditReport & { readonly end: number }, offsets: OffsetIndex) {
    this.#options = options;
    this.#handle = handle;
    this.#offsets = offsets;
    this.#head = { seq: check.records, hash: check.root };
    this.#end = check.end;
    this.#broken = check.broken;
  }

  /** Reads and checks the whole file; a torn last line is cut, `tornBytes` is its length. */
  static async open(options: EventLogOptions): Promise<{ readonly log: EventLog; readonly tornBytes: number }> {
    const offsets = new OffsetIndex();
    const check = await verifyLog(options.file, {
      onRecord: (record, offset) => {
        offsets.add(record.seq, offset);
        options.onRecord?.(record);
      },
    });
    const handle = await open(options.file, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    // A log that was made now must still be there after a loss of power.
    await syncFolder(dirname(options.file));
    const torn = check.tornBytes > 0;
    if (torn) await handle.truncate(check.end);
    const log = new EventLog(options, handle, torn ? { ...check, ok: true, broken: null } : check, offsets);
    return { log, tornBytes: check.tornBytes };
  }

  get head(): ChainHead {
    return this.#head;
  }

  /** Reason that nothing can be recorded any more; null while the chain is whole. */
  get broken(): { readonly seq: number; readonly why: string } | null {
    return this.#broken;
  }

  /** @throws KeeperError `AF_LOG_BROKEN` */
  assertWritable(): void {
    if (this.#broken === null) return;
    throw new KeeperError('AF_LOG_BROKEN', `the event log is broken at record ${this.#broken.seq}: ${this.#broken.why}`);
  }

  /** Appends a result. Never fails: a broken log drops it. */
  append(type: AuditType, body: AuditRecord['body']): void {
    if (this.#broken !== null || this.#closed) return;
    this.#queue.push({ entry: this.#entry(type, body) });
    this.#kick();
  }

  /** Records an intent and returns when it is on disk. @throws KeeperError when it cannot be */
  commit(type: AuditType, body: AuditRecord['body']): Promise<AuditRecord> {
    return this.commitAll(type, [body]);
  }

  /** Records intents in their order, with one wait for the disk; returns the last. @throws KeeperError when one cannot be recorded */
  commitAll(type: AuditType, bodies: readonly [AuditRecord['body'], ...AuditRecord['body'][]]): Promise<AuditRecord> {
    this.assertWritable();
    const written = bodies.map((body) => {
      const { promise, resolve, reject } = Promise.withResolvers<AuditRecord>();
      this.#queue.push({ entry: this.#entry(type, body), settle: { resolve, reject } });
      return promise;
    });
    this.#kick();
    return Promise.all(written).then((records) => records.at(-1) as AuditRecord);
  }

  /** The lines of all records from `from` on that are written by now, each with its newline. */
  async *read(from: number, signal?: AbortSignal): AsyncGenerator<Buffer> {
    await this.flush();
    const start = this.#offsets.before(from);
    const range = { start, end: this.#end, ...(signal === undefined ? {} : { signal }) };
    let seq: number | null = null;
    for await (const line of readLines(this.#options.file, range)) {
      seq = seq === null ? (JSON.parse(line.bytes.toString('utf8')) as AuditRecord).seq : seq + 1;
      if (seq >= from) yield Buffer.concat([line.bytes, Buffer.from('\n')]);
    }
  }

  /** Reads the whole log back from disk and checks it; a break found now stops all recording. */
  async verify(): Promise<AuditReport> {
    await this.flush();
    const { ok, records, root, broken } = await verifyLog(this.#options.file, { end: this.#end, expect: this.#head });
    this.#broken ??= broken;
    return { ok: ok && this.#broken === null, records, root, broken: this.#broken };
  }

  /**
   * Inserts the history of another log before the records of this one: `staged`, whose chain was verified, becomes this
   * log's file by one rename. The earlier records follow with new numbers and hashes, then `last`. Appends meanwhile
   * wait. Rejects before the rename with this log unchanged, or not at all.
   */
  async adopt(staged: string, last: { readonly type: AuditType; readonly body: AuditRecord['body'] }): Promise<void> {
    while (this.#draining !== null) await this.#draining;
    this.assertWritable();
    const replacing = this.#replace(staged, this.#entry(last.type, last.body));
    this.#draining = replacing.catch(() => undefined);
    try {
      await replacing;
    } finally {
      this.#draining = null;
      this.#kick();
    }
  }

  async #replace(staged: string, last: Pending['entry']): Promise<void> {
    const own: Pending['entry'][] = [];
    for await (const { bytes } of readLines(this.#options.file, { end: this.#end }))
      own.push(JSON.parse(bytes.toString('utf8')) as AuditRecord);
    await appendRecords(staged, [...own, last]);
    const offsets = new OffsetIndex();
    const check = await verifyLog(staged, { onRecord: (record, offset) => offsets.add(record.seq, offset) });
    if (!check.ok)
      throw new KeeperError('AF_ADOPTION_INVALID', `the log breaks at record ${check.broken?.seq ?? 0}: ${check.broken?.why ?? ''}`);
    const handle = await open(staged, constants.O_RDWR | constants.O_NOFOLLOW);
    try {
      await rename(staged, this.#options.file);
    } catch (error) {
      await handle.close();
      throw error;
    }
    await this.#handle.close();
    [this.#handle, this.#offsets, this.#end] = [handle, offsets, check.end];
    this.#head = { seq: check.records, hash: check.root };
  }

  /** Returns when everything that can be written is written and synced. */
  async flush(): Promise<void> {
    this.#kick();
    await this.#draining;
  }

  async close(): Promise<void> {
    this.#stopRetry?.();
    await this.flush();
    this.#closed = true;
    if (this.#broken === null) await this.#handle.datasync();
    await this.#handle.close();
  }

  #entry(type: AuditType, body: AuditRecord['body']): Pending['entry'] {
    return { at: timestamp(this.#options.clock), type, epoch: this.#options.epoch(), body };
  }

  #kick(): void {
    if (this.#draining !== null || this.#queue.length === 0 || this.#closed) return;
    this.#draining = this.#drain().finally(() => {
      this.#draining = null;
    });
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, batchRecords);
      try {
        await this.#write(batch);
      } catch (error) {
        await this.#recover(batch, error);
        return;
      }
    }
  }

  async #write(batch: readonly Pending[]): Promise<void> {
    let head = this.#head;
    const records = batch.map(({ entry }) => {
      const record = nextRecord(head, entry);
      head = { seq: record.seq, hash: record.hash };
      return record;
    });
    const lines = records.map((record) => Buffer.from(`${recordLine(record)}\n`));
    const bytes = Buffer.concat(lines);
    await writeFully(this.#handle, bytes, this.#end);
    if (batch.some((pending) => pending.settle !== undefined)) await this.#handle.datasync();
    let offset = this.#end;
    records.forEach((record, index) => {
      this.#offsets.add(record.seq, offset);
      offset += lines[index]?.length ?? 0;
    });
    this.#head = head;
    this.#end += bytes.length;
    records.forEach((record, index) => batch[index]?.settle?.resolve(record));
  }

  /** Removes a failed batch from the file: its intents are refused, the rest is retried. */
  async #recover(batch: readonly Pending[], error: unknown): Promise<void> {
    const failure = asKeeperError(error);
    try {
      await this.#handle.truncate(this.#end);
    } catch (truncateError) {
      this.#broken = { seq: this.#head.seq + 1, why: `its disk fails: ${messageOf(truncateError)}` };
    }
    if (failure.code !== 'AF_STORE_FULL') this.#broken ??= { seq: this.#head.seq + 1, why: `its disk fails: ${messageOf(error)}` };
    this.#queue = [...batch.filter((pending) => pending.settle === undefined), ...this.#queue];
    for (const pending of batch) pending.settle?.reject(failure);
    if (this.#broken !== null) return this.#rejectAll(failure);
    await this.#options.onDiskFull?.();
    this.#stopRetry?.();
    this.#stopRetry = this.#options.clock.after(retryMs, () => this.#kick());
  }

  #rejectAll(failure: KeeperError): void {
    for (const pending of this.#queue.splice(0)) pending.settle?.reject(failure);
  }
}

/** Appends records durably to a log that is not yet shared. */
async function appendRecords(file: string, entries: readonly Pending['entry'][]): Promise<void> {
  const { records, root } = await verifyLog(file);
  let head: ChainHead = { seq: records, hash: root };
  await using handle = await open(file, constants.O_WRONLY | constants.O_APPEND);
  for (const { at, type, epoch, body } of entries) {
    const record = nextRecord(head, { at, type, epoch, body });
    head = record;
    await handle.appendFile(`${recordLine(record)}\n`);
  }
  await handle.sync();
}

async function writeFully(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}
