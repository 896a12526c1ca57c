import type { Readable } from 'node:stream';
import type { Manifest } from './manifest.ts';
import type { LiveObjects } from './objects/compactor.ts';

/** Streams that outlive the job that made them, and the contents that they may still ask for. */
export class Readers {
  readonly #held = new Set<readonly Manifest[]>();

  /** Holds the contents of these manifests until the stream is closed. */
  hold(stream: Readable, manifests: readonly Manifest[]): Readable {
    this.#held.add(manifests);
    stream.once('close', () => this.#held.delete(manifests));
    return stream;
  }

  objects(): LiveObjects {
    const live = new Map<string, number>();
    for (const { entries } of [...this.#held].flat()) {
      for (const { type, hash, size } of entries) if (type === 'f') live.set(hash, size);
    }
    return live;
  }
}
