// Puts engines of pools and models on GPUs: one plan per pool and model, in its status, and the claims that pods name.
// One reconcile at a time for the whole cluster, so that nobody gives the same memory away twice.
export { createGpuCaches, type GpuCaches } from './caches.ts';
export { createPlacementController } from './controller.ts';
export { defaultDriver } from './observe.ts';
export { cachedPlacementView, placementView, type PlacementView, type PlanHolder } from './view.ts';
