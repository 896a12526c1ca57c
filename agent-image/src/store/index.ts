/**
 * Stores of artifacts: an S3 bucket or a mounted volume, behind one interface. May import protocol, kube and the
 * keeper's client.
 */
export {
  type ArtifactStore,
  type StoredArtifact,
  type StoredEntry,
  maxArtifactBytes,
  StoreFailure,
  type StoreFailureCode,
} from './store.ts';
export { createArtifactStore, type ArtifactStoreOptions } from './create.ts';
export { S3Client, type S3ClientOptions, locate, type BucketAddress, S3Store, type S3StoreOptions } from './s3Store.ts';
export { webIdentityOf } from './webIdentity.ts';
export { VolumeStore, type VolumeStoreOptions } from './volumeStore.ts';
