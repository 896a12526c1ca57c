/** S3 for clusters without a cloud, for demo and tests. Imports `hack/sandbox` for kubectl. */
export { installStorage, type StorageAccess } from './install.ts';
