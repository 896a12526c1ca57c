import { readFile, stat } from 'node:fs/promises';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../clock.ts';

const checkEveryMs = 2000;

type KeySet = ReturnType<typeof createLocalJWKSet>;

interface Loaded {
  readonly keys: KeySet;
  readonly stamp: string;
}

/**
 * The cluster's signing keys from a mounted file. The file is looked at again at most every 2 s:
 * when it changed (a rotated-out key must stop working), and when a token names an unknown key.
 * When it cannot be read, the keys read last stay in force.
 */
export class JwksFile {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  #loaded: Loaded | null = null;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #checking: Promise<void> | null = null;

  constructor(file: string, clock: Clock, onError: (error: unknown) => void) {
    this.#file = file;
    this.#clock = clock;
    this.#onError = onError;
  }

  /** To be given to `jwtVerify`. */
  readonly getKey: JWTVerifyGetKey = async (header, token) => {
    await this.#refresh();
    if (this.#loaded === null) throw new errors.JWKSInvalid('the key file of the cluster is not readable yet');
    return await this.#loaded.keys(header, token);
  };

  async #refresh(): Promise<void> {
    if (this.#checking === null && this.#loaded !== null && this.#clock.now() - this.#checkedAt < checkEveryMs) return;
    this.#checking ??= this.#load().finally(() => {
      this.#checking = null;
      this.#checkedAt = this.#clock.now();
    });
    await this.#checking;
  }

  async #load(): Promise<void> {
    try {
      // Kubernetes swaps the whole mounted folder: another inode, whatever the time says.
      const { mtimeNs, ino, size } = await stat(this.#file, { bigint: true });
      const stamp = `${mtimeNs}:${ino}:${size}`;
      if (stamp === this.#loaded?.stamp) return;
      const document = JSON.parse(await readFile(this.#file, 'utf8')) as JSONWebKeySet;
      this.#loaded = { keys: createLocalJWKSet(document), stamp };
    } catch (error) {
      this.#onError(error);
    }
  }
}
