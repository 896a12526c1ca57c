import type { Log } from '@agentfleet/kube';
import type { KeeperClient } from '@agentfleet/keeper/client';
import { maxPartsBytes, partHeader, partHeaderBytes, partsOf, type AuditRecord, type KeeperInfo } from '@agentfleet/protocol/keeper';
import type { ArtifactStore } from '../store/index.ts';
import {
  openCheckpoint,
  readEnvelope,
  type Checkpoint,
  type Content,
  type Envelope,
  contentsOf,
  manifestDigest,
  checkpointNumber,
  logRange,
  recordsIn,
  type LogRange,
  type TaskPlaces,
} from './manifest.ts';
import { DurableFailure } from './failure.ts';
import { read, unlessGone, type PackShelf } from './shelf.ts';

interface AdoptOptions {
  readonly store: ArtifactStore;
  readonly shelf: PackShelf;
  readonly places: TaskPlaces;
  readonly keeper: KeeperClient;
  readonly log: Log;
}

/** Result of an adoption. */
export interface Recovered {
  readonly key: string;
  readonly checkpoint: Checkpoint;
  /** Records of the log, more than the checkpoint knew where the mirror was ahead. */
  readonly records: number;
  readonly root: string;
  /** Checkpoints that are newer and could not be used, and why. */
  readonly passedOver: readonly string[];
  readonly has: (hash: string) => boolean;
}

/**
 * Brings the newest sound checkpoint into an empty keeper; null when there is none at all. After any failure the keeper
 * has nothing or all of it.
 * @throws DurableFailure when there are checkpoints and none can be used; StoreFailure when the store is unavailable;
 * KeeperRefusal
 */
export async function adoptNewest(options: AdoptOptions, signal: AbortSignal): Promise<Recovered | null> {
  const { store, places, log } = options;
  const keys = (await store.list(places.folder, signal)).filter((key) => checkpointNumber(key) !== null);
  const passedOver: string[] = [];
  let failure: DurableFailure | null = null;
  for (const key of keys.toReversed()) {
    try {
      return { ...(await adoptOne(options, key, signal)), passedOver };
    } catch (error) {
      await options.keeper.dropAdoption().catch(() => undefined); // an unfinished adoption has no effect
      const unusable = asUnusable(error);
      if (unusable === null) throw error;
      log.warn('a checkpoint cannot be used', { key, error: unusable.message });
      passedOver.push(`${key}: ${unusable.message}`);
      failure ??= unusable;
    }
  }
  if (failure !== null) throw failure;
  return null;
}

/** Maps to a failure that an older checkpoint may not have; null for unrelated errors. */
function asUnusable(error: unknown): DurableFailure | null {
  if (error instanceof DurableFailure) return error;
  const refused = error instanceof Error && 'code' in error ? error.code : null;
  if (refused !== 'AF_ADOPTION_INVALID' && refused !== 'AF_SNAPSHOT_OBJECT_CORRUPT') return null;
  return new DurableFailure('Damaged', (error as Error).message, error);
}

async function adoptOne(options: AdoptOptions, key: string, signal: AbortSignal): Promise<Omit<Recovered, 'passedOver'>> {
  const { store, shelf, keeper } = options;
  const envelope = readEnvelope(key, await read(store, key, signal));
  const checkpoint = await openCheckpoint(shelf.sealer, key, envelope);
  const lines = await collectLog(options, checkpoint, signal);
  await keeper.beginAdoption(signal);
  await keeper.adoptLog(lines.bytes, signal);
  const needed = await sendManifests(options, checkpoint, signal);
  await sendContents(options, envelope, needed, signal);
  const { snapshots } = checkpoint;
  const { records, root } = await keeper.commitAdoption({ origin: key, head: lines.head, snapshots: [...snapshots] }, signal);
  return { key, checkpoint, records, root, has: (hash) => lines.hashes.has(hash) };
}

async function sendManifests(
  { shelf, keeper }: AdoptOptions,
  { snapshots, manifests }: Checkpoint,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const needed = new Map<string, number>();
  for (const { id, manifestDigest: digest } of snapshots) {
    const text = await shelf.getManifest(manifests[id] ?? '', signal);
    if (manifestDigest(text) !== digest) throw new DurableFailure('Damaged', `the manifest of snapshot ${id} has not its digest`);
    for (const { sha256, size } of contentsOf(text)) needed.set(sha256, size);
    await keeper.adoptManifest(id, text, signal);
  }
  return needed;
}

/** Packs that hold the parts of one content, by offset. */
type Holders = Map<number, string>;

/** Sends the needed parts of each pack. The parts of one content are in consecutive packs, or in one. */
async function sendContents(
  { shelf, keeper }: AdoptOptions,
  { packs }: Envelope,
  needed: ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<void> {
  const sent = new Set<string>();
  const large = new Map<string, Holders>();
  for (const name of packs) {
    const batch = new Batch(keeper);
    for (const { bytes, ...part } of partsOf(await shelf.get(name, signal))) {
      const { sha256, size, offset, length } = part;
      if (!needed.has(sha256) || sent.has(sha256)) continue;
      if (length < size) {
        // The index of another pack may name it, and that pack be gone: where it was read it can be read again.
        large.set(sha256, (large.get(sha256) ?? new Map<number, string>()).set(offset, name));
        continue;
      }
      sent.add(sha256);
      await batch.add(partHeader(part), bytes, signal);
    }
    await batch.flush(signal);
  }
  for (const [sha256, size] of needed)
    if (!sent.has(sha256)) await sendLarge({ shelf, keeper }, { sha256, size }, large.get(sha256), signal);
}

/** A content in several parts, in their order. @throws DurableFailure `Missing`, `Damaged` */
async function sendLarge(
  { shelf, keeper }: Pick<AdoptOptions, 'shelf' | 'keeper'>,
  { sha256, size }: Content,
  holders: Holders | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (holders === undefined) throw new DurableFailure('Missing', `object ${sha256} is in no pack of the checkpoint`);
  for (let offset = 0; offset < size;) {
    const name = holders.get(offset);
    if (name === undefined) throw new DurableFailure('Missing', `object ${sha256} has no part at ${offset} in the checkpoint`);
    const part = [...partsOf(await shelf.get(name, signal))].find((one) => one.sha256 === sha256 && one.offset === offset);
    if (part === undefined || part.length === 0) throw new DurableFailure('Damaged', `pack ${name} is not as it was`);
    await keeper.adoptParts(Buffer.concat([partHeader(part), part.bytes]), signal);
    offset += part.length;
  }
}

/** Parts on their way, as many at once as a request may hold. */
class Batch {
  readonly #keeper: Pick<KeeperClient, 'adoptParts'>;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(keeper: Pick<KeeperClient, 'adoptParts'>) {
    this.#keeper = keeper;
  }

  async add(header: Buffer, bytes: Buffer, signal: AbortSignal): Promise<void> {
    if (this.#bytes + partHeaderBytes + bytes.length > maxPartsBytes) await this.flush(signal);
    this.#pieces.push(header, bytes);
    this.#bytes += partHeaderBytes + bytes.length;
  }

  async flush(signal: AbortSignal): Promise<void> {
    if (this.#pieces.length === 0) return;
    await this.#keeper.adoptParts(Buffer.concat(this.#pieces), signal);
    [this.#pieces, this.#bytes] = [[], 0];
  }
}

/**
 * Collects the log of a checkpoint, and the mirror's records after its head. Of two files that claim the same record
 * the one of the higher epoch counts: an older worker may have continued with a keeper that was cut off.
 * @throws DurableFailure, StoreFailure
 */
async function collectLog({ store, shelf, places }: AdoptOptions, { logs, head }: Checkpoint, signal: AbortSignal) {
  const named = new Map(logs.map((range) => [places.log(range), range]));
  const listed = (await store.list(places.logs, signal)).flatMap((key) => {
    const range = logRange(key);
    return range === null || range.to <= head.seq || named.has(key) ? [] : [range];
  });
  const chain = new Chain();
  const open = async (range: LogRange): Promise<Buffer> => {
    const key = places.log(range);
    return shelf.sealer.open(key, await read(store, key, signal));
  };
  for (const range of logs) chain.extend(await open(range));
  if (chain.hashOf(head.seq) !== head.hash) throw new DurableFailure('Damaged', 'the log of the checkpoint does not reach its head');
  for (const range of listed.sort((a, b) => b.epoch - a.epoch || a.from - b.from)) {
    if (range.to <= chain.length) continue;
    // An act may have been begun by a record after the head: only a file that was swept since the listing is passed over.
    const more = await open(range).catch(unlessGone);
    if (more !== null) chain.extend(more);
  }
  return chain.collected();
}

class Chain {
  readonly #lines: Buffer[] = [];
  readonly #hashes: string[] = [];

  get length(): number {
    return this.#hashes.length;
  }

  hashOf(seq: number): string | undefined {
    return this.#hashes[seq - 1];
  }

  /** Takes the records that follow those that are here; stops where one does not. */
  extend(text: Buffer): void {
    for (const { record, line } of recordsIn(text)) {
      if (record.seq <= this.#hashes.length) continue;
      if (record.seq !== this.#hashes.length + 1 || record.prev !== (this.#hashes.at(-1) ?? '0'.repeat(64))) return;
      this.#lines.push(line);
      this.#hashes.push(record.hash);
    }
  }

  collected() {
    const hash = this.#hashes.at(-1) ?? '';
    return { bytes: Buffer.concat(this.#lines), head: { seq: this.#hashes.length, hash }, hashes: new Set(this.#hashes) };
  }
}

/** History of a task in the log of a keeper. */
export interface History {
  /** Fresh: no history of a task; Adopted: an adoption without a restore since; Knows: a history of its own. */
  readonly state: 'Fresh' | 'Adopted' | 'Knows';
  /** Body of the newest `Adopted` that no `Recovered` follows: the adopting worker was stopped before it could write it. */
  readonly unreported: AuditRecord['body'] | null;
  /** Roots that an `AuditGap` reports as lost. */
  readonly gaps: ReadonlySet<unknown>;
  /** Whether a record with the expected hash is in the log; true when none is expected. */
  readonly hasExpected: boolean;
  readonly root: string;
  readonly records: number;
}

/** Records that a keeper writes by itself: one without others has no history of a task. */
const ofItsOwn = new Set(['KeeperStarted', 'ToolsConnected', 'ToolsLost', 'NetworkProbed', 'EpochRaised']);

/** Reads the whole log. `expected`: the root that was reported last. @throws KeeperRefusal */
export async function historyOf(keeper: Pick<KeeperClient, 'info' | 'events'>, expected: string | undefined): Promise<History> {
  const { snapshots }: KeeperInfo = await keeper.info();
  let state: History['state'] = snapshots.count === 0 ? 'Fresh' : 'Knows';
  let unreported: History['unreported'] = null;
  let hasExpected = expected === undefined;
  let last = { seq: 0, hash: '' };
  const gaps = new Set<unknown>();
  for await (const record of keeper.events()) {
    const { type, body } = record;
    state = next(state, type, body);
    if (type === 'Adopted') unreported = body;
    if (type === 'Noted' && body['kind'] === 'Recovered') unreported = null;
    if (type === 'Noted' && body['kind'] === 'AuditGap') gaps.add((body['data'] as { readonly expected?: unknown } | null)?.expected);
    hasExpected ||= record.hash === expected;
    last = record;
  }
  return { state, unreported, gaps, hasExpected, root: last.hash, records: last.seq };
}

function next(state: History['state'], type: AuditRecord['type'], body: AuditRecord['body']): History['state'] {
  if (type === 'Adopted') return 'Adopted';
  if (state === 'Adopted') return type === 'SnapshotRestored' && body['phase'] === 'Done' ? 'Knows' : state;
  return ofItsOwn.has(type) ? state : 'Knows';
}
