/**
 * The plan of GPUs: which engine of a pool or a model sits on which slot. `observe` and `inventory` read slots, `owners` what is
 * wanted; `problem`, `serve`, `plan` and `decide` are pure; `writer` and `reserve/` write. `model/` has the types of all of it.
 * May import operands, serving, revisions, the solver in src/placement, pools and runtime; no other controller.
 */
export { createGpuCaches, type GpuCaches, defaultDriver } from './observe.ts';
export { createPlacementController } from './controller.ts';
export { cachedPlacementView, heldPods, lackOf, placeless, placementView, type PlacementView, type PlanHolder } from './view.ts';
