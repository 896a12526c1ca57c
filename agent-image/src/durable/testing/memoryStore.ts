import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { StoreFailure, type ArtifactStore, type StoredArtifact, type StoredEntry } from '../../store/index.ts';

/** A store in memory that a test can take away, fill, damage and put back. */
export class MemoryStore implements ArtifactStore {
  readonly objects = new Map<string, { content: Buffer; modifiedAt: number }>();
  /** Calls so far, such as `put packs/ab.pack`. */
  readonly calls: string[] = [];
  /** Called before each call; an error that it throws is the answer. */
  before: (call: string) => void = () => undefined;
  now = 1_000_000;

  /** Every call fails as one to a store that does not answer. */
  goAway(): void {
    this.before = (call) => {
      throw new StoreFailure('Unavailable', `${call}: connect ECONNREFUSED`);
    };
  }

  comeBack(): void {
    this.before = () => undefined;
  }

  keys(part: string): string[] {
    return [...this.objects.keys()].filter((key) => key.includes(part)).sort();
  }

  puts(part: string): string[] {
    return this.calls.filter((call) => call.startsWith('put ') && call.includes(part));
  }

  async put(key: string, content: Uint8Array | string | Readable): Promise<StoredArtifact> {
    this.#ask(`put ${key}`);
    const bytes = content instanceof Readable ? await buffer(content) : Buffer.from(content);
    this.objects.set(key, { content: bytes, modifiedAt: this.now });
    return { uri: `memory://${key}`, sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
  }

  get(key: string): Promise<Buffer> {
    return this.#answer(`get ${key}`, () => {
      const found = this.objects.get(key);
      if (found === undefined) throw new StoreFailure('NotFound', `get ${key}`);
      return Buffer.from(found.content);
    });
  }

  async list(prefix: string): Promise<readonly string[]> {
    return (await this.entries(prefix)).map(({ key }) => key);
  }

  entries(prefix: string): Promise<readonly StoredEntry[]> {
    return this.#answer(`list ${prefix}`, () =>
      [...this.objects]
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, { content, modifiedAt }]) => ({ key, bytes: content.length, modifiedAt }))
        .sort((a, b) => (a.key < b.key ? -1 : 1)),
    );
  }

  remove(keys: readonly string[]): Promise<void> {
    return this.#answer(`remove ${keys.join(' ')}`, () => {
      for (const key of keys) this.objects.delete(key);
    });
  }

  #ask(call: string): void {
    this.calls.push(call);
    this.before(call);
  }

  #answer<T>(call: string, answer: () => T): Promise<T> {
    try {
      this.#ask(call);
      return Promise.resolve(answer());
    } catch (error) {
      return Promise.reject(error);
    }
  }
}
