/**
 * ExpertPool: makes the children of a pool and reports on them. `observe` reads into a `snapshot`; `decide` is pure, with `manifests/`
 * for what objects look like and `servers` for which there are; `rollouts` tries revisions; `status` and `conditions` report.
 * `served/` prepares namespaces whose tasks the pool takes. May import operands, serving, revisions, placement, pools and runtime, and
 * of other controllers the names of agenttask and the counts of warmpool.
 */
export { childKinds, createChildCaches, type ChildCaches, ChildWriter } from './children.ts';
export { createExpertPoolController } from './controller.ts';
export { Tenancy } from './tenancy.ts';
export { hasNoPods } from './manifests/chat.ts';
