import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '@agentfleet/kube';
import { maxPartBytes, partsOf } from '@agentfleet/protocol/keeper';
import { StoreFailure, type ArtifactStore } from '../store/index.ts';
import { DurableFailure } from './failure.ts';
import { blobName, doomedFolder, indexKey, manifestKey, packKey, packsFolder, readSealer, type Content, type Names } from './manifest.ts';
import type { Sealer } from './seal.ts';
import type { ArtifactPlace } from '@agentfleet/protocol/pool';

/** Indexes that stay after a refresh; contents of older packs may be stored a second time. */
const maxIndexes = 1024;
/** Parts in all indexes that stay after a refresh, twice as many as a workspace may have files: a pack may hold 16,384. */
const maxIndexed = 2_000_000;
/** Time for which the list of all packs is used, ms: the list grows with the tasks whose copies are kept. Marks are read each time. */
const listedMs = 15 * 60_000;
const atOnce = 8;
/** Names that are looked up one by one; more are looked up in the list of all. */
const fewNames = 64;
const octets = 'application/octet-stream';

type Indexed = readonly [sha256: string, size: number, offset: number];

interface Holding {
  readonly size: number;
  /** Pack by offset of the part. */
  readonly parts: Map<number, string>;
}

/**
 * The packs that all tasks of a pool share, and which contents they hold. Its state is as old as its last refresh: a
 * caller that relies on a pack that none of its own checkpoints names asks `unreliable` about it just before (see `sweep`).
 */
export class PackShelf {
  readonly #store: ArtifactStore;
  readonly sealer: Sealer;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By hash and size: a keeper that lies about a size must not hide what others store. */
  readonly #holdings = new Map<string, Holding>();
  readonly #indexes = new Map<string, readonly Indexed[]>();
  #doomed: ReadonlySet<string> = new Set();
  #listedAt = Number.NEGATIVE_INFINITY;
  /** Packs under an earlier key: they are read, and their content is stored again under the current one. */
  readonly #outdated = new Set<string>();
  readonly #maxIndexed: number;

  constructor(store: ArtifactStore, sealer: Sealer, clock: Pick<Clock, 'monotonic'>, most = maxIndexed) {
    this.#store = store;
    this.#maxIndexed = most;
    this.sealer = sealer;
    this.#clock = clock;
  }

  /** Returns the names of the packs that together hold a content; undefined when unknown. */
  holders({ sha256, size }: Content): readonly string[] | undefined {
    const holding = this.#holdings.get(`${sha256} ${size}`);
    if (holding === undefined || holding.parts.size < Math.max(1, Math.ceil(holding.size / maxPartBytes))) return undefined;
    return [...new Set(holding.parts.values())];
  }

  /** Forgets packs that are marked, and now and then loads those that others have stored and forgets those that are removed. */
  async refresh(signal: AbortSignal): Promise<void> {
    await this.#readMarks(signal);
    const now = this.#clock.monotonic();
    if (now - this.#listedAt < listedMs) return;
    // Another task of the worker does not wait for this one: what it does not know yet is stored a second time.
    this.#listedAt = now;
    try {
      await this.#loadAll(signal);
    } catch (error) {
      this.#listedAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }

  async #readMarks(signal: AbortSignal): Promise<void> {
    const marks = await this.#store.list(doomedFolder, signal);
    this.#doomed = new Set(marks.map((key) => key.slice(doomedFolder.length)));
    this.drop(this.#doomed);
  }

  async #loadAll(signal: AbortSignal): Promise<void> {
    // Packs that another task stores meanwhile are not in the list, and stay known.
    const before = [...this.#indexes.keys()];
    const there = await this.#store.entries(packsFolder, signal);
    const keys = new Set(there.map(({ key }) => key));
    const usable = there
      .filter(({ key }) => key.endsWith('.index'))
      .sort((a, b) => b.modifiedAt - a.modifiedAt)
      .map(({ key }) => blobName(key))
      .filter((name) => name !== null && !this.#doomed.has(name) && keys.has(packKey(name)))
      .slice(0, maxIndexes) as string[];
    const left = usable.values();
    let indexed = 0;
    const loading = async (): Promise<void> => {
      for (const name of left) {
        if (indexed > this.#maxIndexed) return;
        if (!this.#indexes.has(name)) await this.#load(name, signal).catch(unlessUseless);
        indexed += this.#indexes.get(name)?.length ?? 0;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, loading));
    let room = this.#maxIndexed;
    const kept = new Set(usable.filter((name) => (room -= this.#indexes.get(name)?.length ?? 0) >= 0));
    this.drop([...before, ...usable].filter((name) => !kept.has(name)));
  }

  /** Forgets packs: what they hold is stored again. */
  drop(names: Iterable<string>): void {
    let dropped = false;
    for (const name of names) dropped = this.#indexes.delete(name) || dropped;
    if (!dropped) return;
    this.#holdings.clear();
    for (const [name, indexed] of this.#indexes) this.#hold(name, indexed);
  }

  /** Returns those of some packs and manifests that are missing in the store, or marked by a sweep. */
  async unreliable(named: Names, signal: AbortSignal): Promise<ReadonlySet<string>> {
    await this.#readMarks(signal);
    const keys = await this.#keysOf([...named.packs, ...named.manifests], signal);
    const whole = (name: string, parts: readonly string[]): boolean => parts.every((key) => keys.has(key)) && !this.#doomed.has(name);
    return new Set([
      ...named.packs.filter((name) => !whole(name, [packKey(name), indexKey(name)])),
      ...named.manifests.filter((name) => !whole(name, [manifestKey(name)])),
    ]);
  }

  async #keysOf(names: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    if (names.length > fewNames) return new Set(await this.#store.list(packsFolder, signal));
    const keys = new Set<string>();
    const left = names.values();
    const looking = async (): Promise<void> => {
      for (const name of left) for (const key of await this.#store.list(`${packsFolder}${name}.`, signal)) keys.add(key);
    };
    await Promise.all(Array.from({ length: atOnce }, looking));
    return keys;
  }

  /** Loads the indexes of a checkpoint's packs, whatever their age. @throws DurableFailure, StoreFailure */
  async learn(names: readonly string[], signal: AbortSignal): Promise<void> {
    for (const name of names) if (!this.#indexes.has(name)) await this.#load(name, signal);
  }

  /** Stores parts as one pack, and its index after it. Resolves with its name. */
  async put(parts: Buffer, signal: AbortSignal): Promise<string> {
    const plain = this.sealer.name('pack', parts);
    // A marked pack may be removed at any moment, also while it is written again.
    const name = this.#doomed.has(plain) ? `${plain}-${randomBytes(4).toString('hex')}` : plain;
    const indexed = [...partsOf(parts)].map(({ sha256, size, offset }): Indexed => [sha256, size, offset]);
    await this.#store.put(packKey(name), await this.sealer.seal(`${name}.pack`, parts), octets, signal);
    const index = await this.sealer.seal(`${name}.index`, Buffer.from(JSON.stringify(indexed)));
    await this.#store.put(indexKey(name), index, octets, signal);
    this.#add(name, indexed);
    return name;
  }

  /** @throws DurableFailure, StoreFailure */
  async get(name: string, signal: AbortSignal): Promise<Buffer> {
    return this.sealer.open(`${name}.pack`, await read(this.#store, packKey(name), signal));
  }

  /** Stores a manifest; its name is the same for the same manifest. */
  async putManifest(text: Buffer, signal: AbortSignal): Promise<string> {
    const plain = this.#manifestName(text);
    const name = this.#doomed.has(plain) ? `${plain}-${randomBytes(4).toString('hex')}` : plain;
    await this.#store.put(manifestKey(name), await this.sealer.seal(`${name}.manifest`, text), octets, signal);
    return name;
  }

  /** Reports whether this name was given to a manifest under the current key. */
  isCurrentManifest(name: string, text: Buffer): boolean {
    return name.startsWith(this.#manifestName(text));
  }

  /** @throws DurableFailure, StoreFailure */
  async getManifest(name: string, signal: AbortSignal): Promise<Buffer> {
    return this.sealer.open(`${name}.manifest`, await read(this.#store, manifestKey(name), signal));
  }

  #manifestName(text: Buffer): string {
    return this.sealer.name('manifest', createHash('sha256').update(text).digest());
  }

  async #load(name: string, signal: AbortSignal): Promise<void> {
    const blob = await read(this.#store, indexKey(name), signal);
    const content = await this.sealer.open(`${name}.index`, blob);
    if (!this.sealer.isCurrent(blob)) this.#outdated.add(name);
    this.#add(name, JSON.parse(content.toString('utf8')) as Indexed[]);
  }

  #add(name: string, indexed: readonly Indexed[]): void {
    this.#indexes.set(name, indexed);
    this.#hold(name, indexed);
  }

  #hold(name: string, indexed: readonly Indexed[]): void {
    if (this.#outdated.has(name)) return;
    for (const [sha256, size, offset] of indexed) {
      const one = this.#holdings.get(`${sha256} ${size}`) ?? { size, parts: new Map<number, string>() };
      this.#holdings.set(`${sha256} ${size}`, one);
      one.parts.set(offset, name);
    }
  }
}

/** A blob that has to be there. @throws DurableFailure `Missing`, StoreFailure when the store is away */
export async function read(store: ArtifactStore, key: string, signal: AbortSignal): Promise<Buffer> {
  try {
    return await store.get(key, signal);
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    if (error.code === 'NotFound') throw new DurableFailure('Missing', `${key} is not in the store`, error);
    if (error.code === 'Corrupt') throw new DurableFailure('Damaged', `${key} is not what was stored`, error);
    throw error;
  }
}

/** A blob that was listed, and removed since, is null. */
export function unlessGone(error: unknown): null {
  if (error instanceof DurableFailure && error.code === 'Missing') return null;
  throw error;
}

/** A missing or unreadable index only costs space: the content of its pack is stored again. */
function unlessUseless(error: unknown): void {
  if (!(error instanceof DurableFailure)) throw error;
}

/** The packs that a worker knows, one shelf for each place and its keys: all tasks of a pool share it. */
export class Shelves {
  readonly #shelves = new Map<string, PackShelf>();
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** @throws AttemptFailure when the pool's key is unusable */
  async of(place: ArtifactPlace, store: ArtifactStore): Promise<PackShelf> {
    const sealer = await readSealer(place.type === 'S3' ? place.encryptionKeyFile : undefined);
    const id = `${JSON.stringify(place)} ${sealer.keyIds.join(' ')}`;
    const known = this.#shelves.get(id) ?? new PackShelf(store, sealer, this.#clock);
    this.#shelves.set(id, known);
    return known;
  }
}
