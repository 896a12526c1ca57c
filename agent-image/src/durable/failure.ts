// agent-image, durable: failure of a durable copy, and its cure. May import store, base, protocol, kube and the keeper's client.

/**
 * Reason why a durable copy could not be used, and the cure. `Missing`, `Damaged`: this copy is useless, an older one may not be.
 * `WrongKey`: the blobs were encrypted with another key, or not at all.
 */
const cures = {
  Missing: 'nothing can be done: it was removed from the store',
  Damaged: 'look at the disks of the store',
  WrongKey: 'give the pool the key that it was stored with: spec.storage.encryption.credential',
} as const;

/** The message names fault and place. */
export class DurableFailure extends Error {
  readonly code: keyof typeof cures;
  readonly cure: string;

  constructor(code: keyof typeof cures, message: string, cause?: unknown) {
    super(`${message}; ${cures[code]}`, cause === undefined ? undefined : { cause });
    this.name = 'DurableFailure';
    this.code = code;
    this.cure = cures[code];
  }
}
