import type { ArtifactPlace } from '@agentfleet/protocol/pool';
import type { ArtifactStore } from '../store/index.ts';
import { readSealer } from './key.ts';
import { PackShelf } from './shelf.ts';

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
