import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { ChangingFile } from './changingFile.ts';
import type { WallClock } from './check.ts';

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** The cluster's signing keys from a mounted file: a key that was rotated out stops working, a new one is found. */
export class JwksFile {
  readonly #file: ChangingFile<KeySet>;

  constructor(file: string, clock: WallClock, onError: (error: unknown) => void) {
    this.#file = new ChangingFile(file, keySetOf, clock, onError);
  }

  /** To be given to `jwtVerify`. */
  readonly getKey: JWTVerifyGetKey = async (header, token) => {
    const keys = await this.#file.current();
    if (keys === undefined) throw new errors.JWKSInvalid('the key file of the cluster is not readable yet');
    return await keys(header, token);
  };
}

/** Signing keys that the process itself reads from the API server. `jwks` gives their JSON, and throws before it is known. */
export function jwksInMemory(jwks: () => string): JWTVerifyGetKey {
  let known: { readonly text: string; readonly keys: KeySet } | undefined;
  return async (header, token) => {
    const text = jwks();
    if (known?.text !== text) known = { text, keys: keySetOf(text) };
    return await known.keys(header, token);
  };
}

/** Throws for a text that is no key set. */
function keySetOf(text: string): KeySet {
  return createLocalJWKSet(JSON.parse(text) as JSONWebKeySet);
}
