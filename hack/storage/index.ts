/** S3 for clusters without a cloud, for demo and tests. Imports `sandbox` for kubectl, `install` and ports of `cluster`. */
export { installStorage, type StorageAccess } from './install.ts';
