/**
 * Stores of artifacts: an S3 bucket or a mounted volume, behind one interface. May import `base`, protocol, kube and the
 * keeper's client.
 */
import { tmpdir } from 'node:os';
import type { ArtifactPlace } from '@agentfleet/protocol/pool';
import { S3Store, type S3StoreOptions } from './s3Store.ts';
import type { ArtifactStore } from './store.ts';
import { VolumeStore } from './volumeStore.ts';

export { type ArtifactStore, type StoredArtifact, type StoredEntry, StoreFailure } from './store.ts';
export { S3Store, type S3StoreOptions } from './s3Store.ts';
export { webIdentityOf } from './webIdentity.ts';
export { VolumeStore } from './volumeStore.ts';

type ArtifactStoreOptions = Pick<S3StoreOptions, 'clock' | 'random' | 'ca' | 'identity'> &
  Partial<Pick<S3StoreOptions, 'spool' | 'maxWaitMs'>>;

const maxWaitMs = 30_000;

/**
 * Returns the store of a place. Opens nothing yet: faults of credential, bucket or volume appear at the first use, as a
 * StoreFailure. Streamed content is spooled in the system's temporary folder unless another one is given. @throws StoreFailure when
 * the place's `uri` names no bucket
 */
export function createArtifactStore(place: ArtifactPlace, options: ArtifactStoreOptions): ArtifactStore {
  const spool = options.spool ?? tmpdir();
  if (place.type === 'Volume') return new VolumeStore({ folder: place.path, claim: place.claim, spool, clock: options.clock });
  return new S3Store({ maxWaitMs, ...place, ...options, spool });
}
