/** Caches that follow collections on the server. Imports api, client, runtime, watch. */
export * from './informer.ts';
export { Reflector, type ReflectorOptions, type ReflectorState, type ReflectorTarget } from './reflector.ts';
export { type Indexer, type Lister, Store } from './store.ts';
