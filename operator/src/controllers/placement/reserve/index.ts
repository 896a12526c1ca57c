// GPUs that a device plugin hands out, for several engines each: pods that hold one and say which, the pod that asks a node whether
// it hands out GPUs by environment, and what slots stand for. Everything but the writer is pure.
export { holderChanges, holderView, wantedHolders, type HolderChanges } from './holders.ts';
export { type HolderView } from '../model/index.ts';
export { cachedReserve, isReserve, probeIn, usedHolders } from './observe.ts';
export { bootOf, injectionOf, injectionsOf, probeChanges, type ProbeChanges } from './probe.ts';
export { type Injections } from '../model/index.ts';
export { countedSlots, isCounted, sharingNodes } from './slots.ts';
export { ReserveWriter } from './writer.ts';
