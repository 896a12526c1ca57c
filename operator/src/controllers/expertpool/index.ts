/** ExpertPools: what a pool consists of in its namespace, and what stands for it in the namespaces of its tasks. */
export { childKinds, createChildCaches, type ChildCaches } from './caches.ts';
export { ChildWriter } from './children.ts';
export { createExpertPoolController, type ExpertPoolOptions } from './controller.ts';
export { poolKey, Tenancy } from './tenancy.ts';
