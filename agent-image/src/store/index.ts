/** Where artifacts go: an S3 bucket or a mounted volume, behind one interface. */
export * from './store.ts';
export { createArtifactStore, type ArtifactStoreOptions } from './create.ts';
export { maxArtifactBytes } from './content.ts';
export { StoreFailure, type StoreFailureCode } from './failure.ts';
export { S3Client, type S3ClientOptions } from './s3/client.ts';
export { locate, type BucketAddress } from './s3/location.ts';
export { S3Store, type S3StoreOptions } from './s3/s3Store.ts';
export { VolumeStore, type VolumeStoreOptions } from './volume/volumeStore.ts';
