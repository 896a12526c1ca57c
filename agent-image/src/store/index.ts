/** Where artifacts go: an S3 bucket or a mounted volume, behind one interface. */
export * from './store.ts';
