/**
 * Reason why a durable copy could not be used. `Missing`, `Damaged`: this copy is useless, an older one may not be. `WrongKey`: the
 * blobs were encrypted with another key, or not at all.
 */
type DurableFailureCode = 'Missing' | 'Damaged' | 'WrongKey';

const cures: Readonly<Record<DurableFailureCode, string>> = {
  Missing: 'nothing can be done: it was removed from the store',
  Damaged: 'look at the disks of the store',
  WrongKey: 'give the pool the key that it was stored with: spec.storage.encryption.credential',
};

/** The message names fault and place. */
export class DurableFailure extends Error {
  readonly code: DurableFailureCode;
  readonly cure: string;

  constructor(code: DurableFailureCode, message: string, cause?: unknown) {
    super(`${message}; ${cures[code]}`, cause === undefined ? undefined : { cause });
    this.name = 'DurableFailure';
    this.code = code;
    this.cure = cures[code];
  }
}
