import { mkdir, open, rm, stat, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { KeeperError, messageOf } from '../base/failure.ts';
import { ifThere, syncFolder } from '../base/stored.ts';
import type { Readable } from 'node:stream';
import {
  maxLogBytes,
  maxManifestBytes,
  partsOf,
  type Adopted,
  type AdoptionRequest,
  type AuditRecord,
  type AuditType,
  maxPartBytes,
  maxPartsBytes,
  partHeader,
  partHeaderBytes,
  type PartsRequest,
} from '@agentfleet/protocol/keeper';
import { verifyLog, type EventLog } from '../log/index.ts';
import type { Snapshots } from './snapshots.ts';
import type { Adoption } from '../snapshot/index.ts';

interface Staging {
  readonly folder: string;
  readonly log: string;
  readonly manifest: (id: string) => string;
  /** There from before the first snapshot is placed until the log has been renamed, and a moment longer. */
  readonly mark: string;
}

function stagingOf(storeDir: string): Staging {
  const folder = join(storeDir, 'adoption');
  return { folder, log: join(folder, 'events.log'), manifest: (id) => join(folder, id), mark: join(folder, 'placing') };
}

async function beginStaging(staging: Staging): Promise<void> {
  await endStaging(staging);
  await mkdir(staging.folder, { mode: 0o700 });
}

/** Records durably that snapshots will be placed into the engine. The staged log is durable already. */
async function markPlacing(staging: Staging): Promise<void> {
  await (await open(staging.mark, 'w', 0o600)).close();
  await syncFolder(staging.folder);
  await syncFolder(dirname(staging.folder));
}

/** Removes all of it; the mark first, which without the staged log would mean that it was moved into place. */
async function endStaging(staging: Staging): Promise<void> {
  await rm(staging.mark, { force: true });
  if ((await ifThere(stat(staging.folder))) !== null) await syncFolder(staging.folder);
  await rm(staging.folder, { recursive: true, force: true });
}

/**
 * Call this before log and engine are opened. An adoption that was cut off before its log was renamed into place is
 * undone: the engine's whole folder is removed, because only a keeper without a snapshot adopts. After the rename it
 * counts as done.
 */
export async function recoverAdoption(storeDir: string, engineFolder: string): Promise<void> {
  const staging = stagingOf(storeDir);
  const isPlacing = (await ifThere(stat(staging.mark))) !== null;
  if (isPlacing && (await ifThere(stat(staging.log))) !== null) await rm(engineFolder, { recursive: true, force: true });
  await endStaging(staging);
}

interface AdoptionsOptions {
  readonly storeDir: string;
  readonly log: EventLog;
  readonly snapshots: Snapshots;
  readonly freeBytes: () => Promise<number>;
}

/** Records that a keeper's log may hold before it has any of a task. */
const ofItsOwn: ReadonlySet<AuditType> = new Set(['KeeperStarted', 'ToolsConnected', 'ToolsLost', 'NetworkProbed', 'EpochRaised']);

/**
 * Adopts the log and the snapshots of a lost keeper; at most one at a time. Everything is staged in a separate folder
 * until `commit`, whose decisive step is the rename of the log: before it this keeper has nothing of the adoption,
 * after it all.
 */
export class Adoptions {
  readonly #options: AdoptionsOptions;
  readonly #staging: Staging;
  #engine: Adoption | null = null;

  constructor(options: AdoptionsOptions) {
    this.#options = options;
    this.#staging = stagingOf(options.storeDir);
  }

  /** Begins again; the content of an earlier adoption is dropped. @throws KeeperError `AF_NOT_FRESH` */
  async begin(): Promise<void> {
    await this.#assertFresh();
    await this.drop();
    await beginStaging(this.#staging);
    this.#engine = this.#options.snapshots.adopt(await this.#options.freeBytes());
  }

  async drop(): Promise<void> {
    this.#engine?.drop();
    this.#engine = null;
    await endStaging(this.#staging);
  }

  /** Drops the adoption in progress because this keeper begins a history of its own. */
  async preempt(): Promise<void> {
    if (this.#engine !== null) await this.drop();
  }

  /** The whole log as NDJSON. @throws KeeperError `AF_ADOPTION_INVALID` when its chain does not hold */
  async log(lines: Readable): Promise<{ readonly records: number; readonly root: string }> {
    this.#begun();
    await store(this.#staging.log, lines, maxLogBytes);
    const { ok, records, root, broken } = await verifyLog(this.#staging.log);
    if (!ok) throw invalid(`the log breaks at record ${broken?.seq ?? 0}: ${broken?.why ?? ''}`);
    return { records, root };
  }

  /** Some parts of contents. @throws SnapshotError `AF_SNAPSHOT_OBJECT_CORRUPT`, `AF_STORE_FULL` */
  objects(body: Buffer): void {
    const engine = this.#begun();
    try {
      for (const part of partsOf(body)) engine.add(part);
    } catch (error) {
      throw error instanceof Error && 'code' in error ? error : invalid(messageOf(error));
    }
  }

  /** The canonical text of one snapshot's manifest. */
  async manifest(id: string, text: Readable): Promise<void> {
    this.#begun();
    await store(this.#staging.manifest(id), text, maxManifestBytes);
  }

  /** Puts all in place, or nothing. @throws KeeperError or SnapshotError */
  async commit(request: AdoptionRequest): Promise<Adopted> {
    const engine = this.#begun();
    try {
      return await this.#commit(engine, request);
    } catch (error) {
      await this.drop();
      throw error;
    }
  }

  async #commit(engine: Adoption, { origin, head, snapshots }: AdoptionRequest): Promise<Adopted> {
    await this.#assertFresh();
    const staging = this.#staging;
    const { last, above } = await this.#history(head, snapshots);
    await markPlacing(staging);
    const placed = snapshots.map((record) => ({
      record,
      text: () => readStaged(staging.manifest(record.id), record.id),
    }));
    await engine.place(placed, above);
    const ids = snapshots.map(({ id }) => id);
    const body = { origin, records: last.seq, root: last.hash, lastAt: last.at, snapshots: ids };
    await this.#options.log.adopt(staging.log, { type: 'Adopted', body });
    await syncFolder(this.#options.storeDir);
    this.#engine = null;
    await endStaging(staging);
    return { records: last.seq, root: last.hash, snapshots: ids };
  }

  async #history(head: AdoptionRequest['head'], snapshots: AdoptionRequest['snapshots']): Promise<{ last: AuditRecord; above: string }> {
    const seen: { last: AuditRecord | null } = { last: null };
    let above = Math.max(0, ...snapshots.map(({ id }) => numberOf(id)));
    const { ok } = await verifyLog(this.#staging.log, {
      onRecord: (record) => {
        seen.last = record;
        if (record.type === 'SnapshotTaken' && typeof record.body['id'] === 'string') above = Math.max(above, numberOf(record.body['id']));
      },
    });
    const { last } = seen;
    if (!ok || last?.seq !== head.seq || last.hash !== head.hash)
      throw invalid('the log does not end with the record that it should end with');
    const ascending = snapshots.every(({ id }, at) => at === 0 || numberOf(id) > numberOf(snapshots[at - 1]?.id ?? 's0'));
    if (!ascending) throw invalid('the snapshots are not in their order');
    return { last, above: `s${String(above).padStart(4, '0')}` };
  }

  #begun(): Adoption {
    if (this.#engine !== null) return this.#engine;
    throw new KeeperError('AF_ADOPTION_INVALID', 'no adoption was begun', { cure: 'begin one with POST /v1/adoption' });
  }

  async #assertFresh(): Promise<void> {
    const { log, snapshots } = this.#options;
    log.assertWritable();
    const [taken] = snapshots.list();
    if (taken !== undefined) throw new KeeperError('AF_NOT_FRESH', `this keeper has the snapshot ${taken.id} already`);
    for await (const line of log.read(1)) {
      const { type, seq } = JSON.parse(line.toString('utf8')) as AuditRecord;
      if (!ofItsOwn.has(type)) throw new KeeperError('AF_NOT_FRESH', `this keeper has a history already: record ${seq} is ${type}`);
    }
  }
}

function numberOf(id: string): number {
  return Number.parseInt(id.slice(1), 10);
}

function invalid(why: string): KeeperError {
  return new KeeperError('AF_ADOPTION_INVALID', why);
}

async function store(path: string, from: Readable, maxBytes: number): Promise<void> {
  await using handle = await open(path, 'w', 0o600);
  let bytes = 0;
  for await (const chunk of from as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new KeeperError('AF_TOO_LARGE', `more than ${maxBytes} bytes were sent`);
    await handle.appendFile(chunk);
  }
  await handle.sync();
}

async function readStaged(path: string, id: string): Promise<Buffer> {
  const text = await ifThere(readFile(path));
  if (text === null) throw invalid(`the manifest of snapshot ${id} was not sent`);
  return text;
}

/**
 * Returns the named parts, each after its header. A whole content is verified; one that is sent in several parts can
 * only be verified by the receiver. @throws KeeperError `AF_TOO_LARGE`, `AF_INVALID`; SnapshotError
 * `AF_SNAPSHOT_OBJECT_CORRUPT`
 */
export async function exportParts({ parts }: PartsRequest, snapshots: Snapshots): Promise<Buffer> {
  const bytes = parts.reduce((sum, { length }) => sum + partHeaderBytes + length, 0);
  if (bytes > maxPartsBytes) throw new KeeperError('AF_TOO_LARGE', `parts: they are ${bytes} bytes, ${maxPartsBytes} are allowed`);
  const pieces: Buffer[] = [];
  for (const part of parts) {
    const { sha256, size, offset, length } = part;
    if (length > maxPartBytes || offset + length > size) throw new KeeperError('AF_INVALID', `parts: a part of ${sha256} does not fit`);
    const whole = offset === 0 && length === size;
    const content = whole ? await snapshots.readObject(sha256) : await snapshots.readRange(sha256, offset, length);
    if (content.length !== length) throw new KeeperError('AF_INVALID', `parts: ${sha256} has ${content.length} bytes`);
    pieces.push(partHeader(part), content);
  }
  return Buffer.concat(pieces);
}
