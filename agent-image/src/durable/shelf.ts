import { createHash, randomBytes } from 'node:crypto';
import { maxPartBytes, partsOf } from '@agentfleet/protocol/keeper';
import { StoreFailure, type ArtifactStore } from '../store/index.ts';
import { DurableFailure } from './failure.ts';
import { blobName, doomedFolder, doomedKey, indexKey, manifestKey, packKey, packsFolder, readSealer } from './manifest.ts';
import type { Sealer } from './seal.ts';
import type { ArtifactPlace } from '@agentfleet/protocol/pool';

/** Most indexes held at once; contents of older packs may be stored a second time. */
const maxIndexes = 1024;
const octets = 'application/octet-stream';

/** One part in the index of its pack. */
type Indexed = readonly [sha256: string, size: number, offset: number];

/**
 * The packs that all tasks of a pool share, and which contents they hold. Its state is as old as its last refresh: a
 * caller that relies on a pack that none of its own checkpoints names must have refreshed just before (see `sweep`).
 */
export class PackShelf {
  readonly #store: ArtifactStore;
  readonly sealer: Sealer;
  /** Contents that are complete in known packs. */
  readonly #packs = new Map<string, readonly string[]>();
  readonly #indexes = new Map<string, readonly Indexed[]>();
  #doomed: ReadonlySet<string> = new Set();
  /** Packs under an earlier key: they are read, and their content is stored again under the current one. */
  readonly #outdated = new Set<string>();

  constructor(store: ArtifactStore, sealer: Sealer) {
    this.#store = store;
    this.sealer = sealer;
  }

  /** Returns the names of the packs that together hold a content; undefined when unknown. */
  holders(sha256: string): readonly string[] | undefined {
    return this.#packs.get(sha256);
  }

  /** The pack with the part of a content that begins at an offset. */
  holderOf(sha256: string, offset: number): string | undefined {
    for (const [name, indexed] of this.#indexes) if (indexed.some(([of, , at]) => of === sha256 && at === offset)) return name;
    return undefined;
  }

  /** Loads packs that others have stored, and forgets those that are removed or marked. */
  async refresh(signal: AbortSignal): Promise<void> {
    const doomed = await this.#store.list(doomedFolder, signal);
    this.#doomed = new Set(doomed.map((key) => key.slice(doomedFolder.length)));
    const there = await this.#store.entries(packsFolder, signal);
    const keys = new Set(there.map(({ key }) => key));
    const usable = there
      .filter(({ key }) => key.endsWith('.index'))
      .sort((a, b) => b.modifiedAt - a.modifiedAt)
      .map(({ key }) => blobName(key))
      .filter((name) => name !== null && !this.#doomed.has(name) && keys.has(packKey(name)))
      .slice(0, maxIndexes) as string[];
    const kept = new Set(usable);
    for (const name of this.#indexes.keys()) if (!kept.has(name)) this.#indexes.delete(name);
    for (const name of usable) if (!this.#indexes.has(name)) await this.#load(name, signal).catch(unlessUseless);
    this.#rebuild();
  }

  /** Returns those of some packs and manifests that are missing in the store, or marked by a sweep. */
  async unreliable(
    named: { readonly packs: readonly string[]; readonly manifests: readonly string[] },
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const keys = new Set(await this.#store.list(packsFolder, signal));
    for (const key of await this.#store.list(doomedFolder, signal)) keys.add(key);
    const whole = (name: string, parts: readonly string[]): boolean => parts.every((key) => keys.has(key)) && !keys.has(doomedKey(name));
    return new Set([
      ...named.packs.filter((name) => !whole(name, [packKey(name), indexKey(name)])),
      ...named.manifests.filter((name) => !whole(name, [manifestKey(name)])),
    ]);
  }

  /** Loads the indexes of a checkpoint's packs, whatever their age. @throws DurableFailure, StoreFailure */
  async learn(names: readonly string[], signal: AbortSignal): Promise<void> {
    for (const name of names) if (!this.#indexes.has(name)) await this.#load(name, signal);
    this.#rebuild();
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
    this.#indexes.set(name, indexed);
    this.#rebuild();
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
    this.#indexes.set(name, JSON.parse(content.toString('utf8')) as Indexed[]);
  }

  /** A content counts only when all of its parts are there. */
  #rebuild(): void {
    const found = new Map<string, { size: number; parts: Map<number, string> }>();
    for (const [name, indexed] of this.#indexes) {
      if (this.#outdated.has(name)) continue;
      for (const [sha256, size, offset] of indexed) {
        const one = found.get(sha256) ?? { size, parts: new Map<number, string>() };
        found.set(sha256, one);
        one.parts.set(offset, name);
      }
    }
    this.#packs.clear();
    for (const [sha256, { size, parts }] of found) {
      if (parts.size >= partCount(size)) this.#packs.set(sha256, [...new Set(parts.values())]);
    }
  }
}

function partCount(size: number): number {
  return Math.max(1, Math.ceil(size / maxPartBytes));
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

/** A missing or unreadable index only costs space: the content of its pack is stored again. */
function unlessUseless(error: unknown): void {
  if (!(error instanceof DurableFailure)) throw error;
}

/** The packs that a worker knows, one shelf for each place and its keys: all tasks of a pool share it. */
export class Shelves {
  readonly #shelves = new Map<string, PackShelf>();

  /** @throws AttemptFailure when the pool's key is unusable */
  async of(place: ArtifactPlace, store: ArtifactStore): Promise<PackShelf> {
    const sealer = await readSealer(place.type === 'S3' ? place.encryptionKeyFile : undefined);
    const id = `${JSON.stringify(place)} ${sealer.keyIds.join(' ')}`;
    const known = this.#shelves.get(id) ?? new PackShelf(store, sealer);
    this.#shelves.set(id, known);
    return known;
  }
}
