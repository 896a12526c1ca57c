/**
 * Why a store did not do what it was asked, independent of what kind of store it is.
 * `Unavailable`: it did not answer, or asked to come back later, for as long as we tried.
 */
export type StoreFailureCode =
  'Corrupt' | 'Credential' | 'Denied' | 'Full' | 'InvalidKey' | 'NoBucket' | 'NotFound' | 'Refused' | 'TooLarge' | 'Unavailable';

const cures: Readonly<Record<StoreFailureCode, string>> = {
  Corrupt: 'store it again; when it comes back, look at the disks of the store',
  Credential: 'correct the Secret of the credential: access key id, a colon, secret key',
  Denied: 'allow the credential to read, write, list and delete below the prefix',
  Full: 'free space in the store, or raise its size or quota',
  InvalidKey: 'use a relative key of ordinary names',
  NoBucket: 'create the bucket, or correct spec.storage.uri of the pool',
  NotFound: 'list the prefix to see what is there',
  Refused: 'check endpoint, region and forcePathStyle in spec.storage of the pool',
  TooLarge: 'store less at a time',
  Unavailable: 'check that the store runs and that the worker may reach it',
};

/** A refusal of a store. The message says what and where and holds no secret. */
export class StoreFailure extends Error {
  readonly code: StoreFailureCode;
  readonly cure: string;

  constructor(code: StoreFailureCode, message: string, options?: { readonly cure?: string; readonly cause?: unknown }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'StoreFailure';
    this.code = code;
    this.cure = options?.cure ?? cures[code];
  }
}
