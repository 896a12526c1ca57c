/** Caches that follow collections on the server. Imports api, client, runtime, watch. */
export * from './informer.ts';
export * from './reflector.ts';
export * from './store.ts';
