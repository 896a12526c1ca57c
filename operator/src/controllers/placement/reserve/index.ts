// GPUs that a device plugin hands out, for several engines each: pods that hold one and say which, the pod that asks a node whether
// it hands out GPUs by environment, and what slots stand for. Everything but the writer is pure.
// Part of `controllers/placement`: may import `controllers/agenttask`, `operands`, `revisions`, `pools`, `serving`, `runtime`, `placement`, `rollout`;
// of packages protocol and kube.
export { holderChanges, holderView, wantedHolders, type HolderChanges, countedSlots, isCounted, sharingNodes } from './holders.ts';
export { cachedReserve, holdersInUse, isReserve, probeIn, ReserveWriter } from './writer.ts';
export { bootOf, injectionOf, injectionsOf, probeChanges, type ProbeChanges } from './probe.ts';
