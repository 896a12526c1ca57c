/** S3 for clusters without a cloud, for demo and tests. Imports `hack/ground` and `hack/sandbox`. */
export { installStorage, type StorageAccess } from './install.ts';
