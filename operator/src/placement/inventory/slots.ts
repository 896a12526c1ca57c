import type { Gpu } from './resourceSlice.ts';

/** Which GPU a logical name stands for. It is set once, and changes only when a human says so. */
export interface SlotBinding {
  /** `<node>/gpu<n>`. */
  readonly slot: string;
  readonly uuid: string;
  readonly pciBusID: string | undefined;
}

export type SlotState = 'Ready' | 'Tainted' | 'Gone' | 'Rebound';

export interface InventorySlot extends SlotBinding {
  readonly node: string;
  readonly state: SlotState;
  /** The GPU that has the slot's uuid now. */
  readonly gpu: Gpu | undefined;
  /** With `Rebound`: the GPU that is in the place of the one that is gone. */
  readonly candidate?: Gpu;
  /** Why it is not Ready, and the cure. */
  readonly message?: string;
}

/**
 * Gives GPUs their logical names. Names that are bound stay with their uuid; GPUs that have none get the next free
 * number of their node, in the order of their PCI bus. A GPU in the place of one that is gone (a board swap) gets no name
 * by itself: its slot is `Rebound` until `approved` names the slot's new uuid. Deterministic.
 */
export function bindSlots(
  gpus: readonly Gpu[],
  bound: readonly SlotBinding[],
  approved: ReadonlyMap<string, string> = new Map(),
): readonly InventorySlot[] {
  const byUuid = new Map(gpus.map((gpu) => [gpu.uuid, gpu]));
  const rebound = bound.map((binding) => rebind(binding, byUuid, bound, approved));
  const taken = new Set(rebound.map(({ uuid }) => uuid));
  const free = gpus.filter((gpu) => !taken.has(gpu.uuid));
  const slots = rebound.map((binding) => slotOf(binding, byUuid.get(binding.uuid), free));
  const claimed = new Set(slots.flatMap(({ candidate }) => (candidate === undefined ? [] : [candidate.uuid])));
  const names = new Set(slots.map(({ slot }) => slot));
  const fresh = free.filter((gpu) => !claimed.has(gpu.uuid)).sort(byPlace);
  for (const gpu of fresh) {
    const slot = nextName(gpu.node, names);
    names.add(slot);
    slots.push(slotOf({ slot, uuid: gpu.uuid, pciBusID: gpu.pciBusID }, gpu, []));
  }
  return slots.sort((a, b) => (a.node < b.node ? -1 : a.node > b.node ? 1 : numberOf(a.slot) - numberOf(b.slot)));
}

/** The binding as a human changed it; an approval counts only for a GPU that is there and that no other slot has. */
function rebind(
  binding: SlotBinding,
  byUuid: ReadonlyMap<string, Gpu>,
  bound: readonly SlotBinding[],
  approved: ReadonlyMap<string, string>,
): SlotBinding {
  const gpu = byUuid.get(approved.get(binding.slot) ?? '');
  if (gpu === undefined || gpu.node !== nodeOf(binding.slot)) return binding;
  if (bound.some((other) => other.slot !== binding.slot && other.uuid === gpu.uuid)) return binding;
  return { slot: binding.slot, uuid: gpu.uuid, pciBusID: gpu.pciBusID };
}

function slotOf(binding: SlotBinding, gpu: Gpu | undefined, free: readonly Gpu[]): InventorySlot {
  const node = nodeOf(binding.slot);
  if (gpu === undefined) return missing(binding, node, free);
  const [taint] = gpu.taints;
  const base = { ...binding, node, pciBusID: gpu.pciBusID ?? binding.pciBusID, gpu };
  if (taint === undefined) return { ...base, state: 'Ready' };
  const message = `the driver taints it with ${taint.key}${taint.value === undefined ? '' : `=${taint.value}`}: see to the device`;
  return { ...base, state: 'Tainted', message };
}

function missing(binding: SlotBinding, node: string, free: readonly Gpu[]): InventorySlot {
  const candidate = free.find((gpu) => gpu.node === node && gpu.pciBusID !== undefined && gpu.pciBusID === binding.pciBusID);
  const base = { ...binding, node, gpu: undefined };
  if (candidate === undefined)
    return { ...base, state: 'Gone', message: `no GPU of ${node} has its uuid ${binding.uuid}: is the board lost?` };
  const message = `${candidate.uuid} is in the place of ${binding.uuid}: approve the new board, or put the old one back`;
  return { ...base, state: 'Rebound', candidate, message };
}

function nextName(node: string, names: ReadonlySet<string>): string {
  let number = 0;
  while (names.has(`${node}/gpu${number}`)) number += 1;
  return `${node}/gpu${number}`;
}

function byPlace(a: Gpu, b: Gpu): number {
  const [first, second] = [`${a.node} ${a.pciBusID ?? '~'} ${a.uuid}`, `${b.node} ${b.pciBusID ?? '~'} ${b.uuid}`];
  return first < second ? -1 : first > second ? 1 : 0;
}

function nodeOf(slot: string): string {
  return slot.slice(0, slot.lastIndexOf('/'));
}

function numberOf(slot: string): number {
  return Number(slot.slice(slot.lastIndexOf('/gpu') + '/gpu'.length));
}
