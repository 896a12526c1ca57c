/** Names and shapes of the Kubernetes API as plain JSON. Imports nothing of this package. */
export * from './labelQuery.ts';
export * from './object.ts';
export * from './resource.ts';
export * from './resourceVersion.ts';
export * from './selector.ts';
