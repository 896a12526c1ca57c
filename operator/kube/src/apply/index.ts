/** Writes: apply without needless ones, owners, finalizers. Imports api, client, runtime. */
export * from './applier.ts';
export { canonical, contains, contentHash } from './canonical.ts';
export * from './finalizers.ts';
export * from './owners.ts';
