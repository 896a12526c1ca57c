// GPUs that there are, and their names: from ResourceSlices, node status and what is written down. Pure.
// Part of `placement`: may import protocol.
export { closedBy, conflictsOf, isClosingTaint, isPluginResource, pluginGpus, pluginSlices, type GpuNode, bindSlots } from './slots.ts';
export { gpusOf, type PublishedGpus } from './gpus.ts';
export type { InventorySlot, SlotBinding, SlotState } from './naming.ts';
export { bytesOf } from './resourceSlice.ts';
export type { CounterSet, Device, DeviceTaint, Gpu, InventoryProblem, MigSlice, ResourceSlice } from './resourceSlice.ts';
export { nodeOfSlot, parseSlotName, profileName, type SlotName } from './naming.ts';
