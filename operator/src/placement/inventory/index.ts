// Which GPUs there are and what they are called: from ResourceSlices, node status and what is written down. Pure.
export { conflictsOf, pluginGpus, pluginResource, type GpuNode } from './conflict.ts';
export { gpusOf, type PublishedGpus } from './gpus.ts';
export { bytesOf } from './quantity.ts';
export type { Device, DeviceTaint, Gpu, InventoryProblem, ResourceSlice } from './resourceSlice.ts';
export { bindSlots, type InventorySlot, type SlotBinding, type SlotState } from './slots.ts';
