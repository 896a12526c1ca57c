/**
 * Stores of artifacts: an S3 bucket or a mounted volume, behind one interface. May import `base`, protocol, kube and the
 * keeper's client.
 */
export { type ArtifactStore, type StoredArtifact, type StoredEntry, StoreFailure } from './store.ts';
export { createArtifactStore } from './create.ts';
export { S3Client, locate, S3Store, type S3StoreOptions } from './s3Store.ts';
export { webIdentityOf } from './webIdentity.ts';
export { VolumeStore } from './volumeStore.ts';
