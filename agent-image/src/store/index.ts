/**
 * Stores of artifacts: an S3 bucket or a mounted volume, behind one interface. May import `base`, protocol, kube and the
 * keeper's client.
 */
import { tmpdir } from 'node:os';
import type { Clock, Random } from '@agentfleet/kube';
import type { ArtifactPlace } from '@agentfleet/protocol/pool';
import { S3Store } from './s3Store.ts';
import type { ArtifactStore } from './store.ts';
import { VolumeStore } from './volumeStore.ts';
import type { WebIdentitySettings } from './webIdentity.ts';

export { type ArtifactStore, type StoredArtifact, type StoredEntry, StoreFailure } from './store.ts';
export { S3Client, locate, S3Store, type S3StoreOptions } from './s3Store.ts';
export { webIdentityOf } from './webIdentity.ts';
export { VolumeStore } from './volumeStore.ts';

interface ArtifactStoreOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Folder for streamed content, at most 64 MiB each; default: the system's temporary folder. */
  readonly spool?: string;
  /** S3: PEM certificates to trust instead of the system's. */
  readonly ca?: string;
  /** S3: identity of the pod's account, where a place names no credential. */
  readonly identity?: WebIdentitySettings;
  /** S3: how long a store that is busy or not there is asked again, ms; default 30 s. */
  readonly maxWaitMs?: number;
}

const maxWaitMs = 30_000;

/**
 * Returns the store of a place. Opens nothing yet: faults of credential, bucket or volume appear at the first use, as a
 * StoreFailure. @throws StoreFailure when the place's `uri` names no bucket
 */
export function createArtifactStore(place: ArtifactPlace, options: ArtifactStoreOptions): ArtifactStore {
  const spool = options.spool ?? tmpdir();
  if (place.type === 'Volume') return new VolumeStore({ folder: place.path, claim: place.claim, spool, clock: options.clock });
  return new S3Store({ maxWaitMs, ...place, ...options, spool });
}
