import { readFile, stat } from 'node:fs/promises';
import type { WallClock } from './check.ts';

const checkEveryMs = 2000;

/**
 * A mounted file that the kubelet replaces now and then. It is looked at again at most every 2 s; when it cannot be read or
 * parsed, what was read last stays in force.
 */
export class ChangingFile<T> {
  readonly #file: string;
  readonly #parse: (text: string) => T;
  readonly #clock: WallClock;
  readonly #onError: (error: unknown) => void;
  #loaded: { readonly value: T; readonly stamp: string } | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #checking: Promise<void> | null = null;

  /** `parse` throws for a text that is of no use. */
  constructor(file: string, parse: (text: string) => T, clock: WallClock, onError: (error: unknown) => void) {
    this.#file = file;
    this.#parse = parse;
    this.#clock = clock;
    this.#onError = onError;
  }

  /** What it holds now; undefined before it could be read for the first time. Never rejects. */
  async current(): Promise<T | undefined> {
    const fresh = this.#loaded !== undefined && this.#clock.now() - this.#checkedAt < checkEveryMs;
    if (this.#checking !== null || !fresh) {
      this.#checking ??= this.#load().finally(() => {
        this.#checking = null;
        this.#checkedAt = this.#clock.now();
      });
      await this.#checking;
    }
    return this.#loaded?.value;
  }

  async #load(): Promise<void> {
    try {
      // Kubernetes swaps the whole mounted folder: another inode, whatever the time says.
      const { mtimeNs, ino, size } = await stat(this.#file, { bigint: true });
      const stamp = `${mtimeNs}:${ino}:${size}`;
      if (stamp === this.#loaded?.stamp) return;
      this.#loaded = { value: this.#parse(await readFile(this.#file, 'utf8')), stamp };
    } catch (error) {
      this.#onError(error);
    }
  }
}
