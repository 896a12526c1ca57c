import type { Gpu } from './resourceSlice.ts';
import { nodeOfSlot } from './slotName.ts';

/** Which GPU a logical name stands for. It is set once, and changes only when a human says so. */
export interface SlotBinding {
  /** `<node>/gpu<n>`, or `<node>/gpu<n>-<profile>-<i>` for a MIG slice of that board. */
  readonly slot: string;
  readonly uuid: string;
  readonly pciBusID: string | undefined;
}

/** Partitioned: a board whose MIG slices are slots in its place. */
export type SlotState = 'Ready' | 'Tainted' | 'Gone' | 'Rebound' | 'Partitioned';

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

/** What boards and MIG slices differ in when they get their names. */
export interface Kind {
  readonly noun: string;
  /** Whether a name may stand for it. */
  readonly fits: (slot: string, gpu: Gpu) => boolean;
  /** The name of one that has none; undefined: it gets none now. */
  readonly name: (gpu: Gpu, names: ReadonlySet<string>) => string | undefined;
  /** What is said of a name whose GPU is not there. */
  readonly gone: (binding: SlotBinding) => string;
}

/** Gives GPUs of one kind their names, see `bindSlots`. */
export function bindKind(
  gpus: readonly Gpu[],
  bound: readonly SlotBinding[],
  approved: ReadonlyMap<string, string>,
  kind: Kind,
): readonly InventorySlot[] {
  const isOf = ({ slot, uuid }: SlotBinding, gpu: Gpu): boolean => uuid === gpu.uuid && kind.fits(slot, gpu);
  const rebound = bound.map((binding) => {
    const gpu = gpus.find(({ uuid }) => uuid === approved.get(binding.slot));
    // An approval counts only for one that is there, that may have the name, and that no other slot has.
    if (gpu === undefined || gpu.node !== nodeOfSlot(binding.slot) || !kind.fits(binding.slot, gpu)) return binding;
    if (bound.some((other) => other.slot !== binding.slot && isOf(other, gpu))) return binding;
    return { slot: binding.slot, uuid: gpu.uuid, pciBusID: gpu.pciBusID };
  });
  const free = gpus.filter((gpu) => !rebound.some((binding) => isOf(binding, gpu)));
  const slots = rebound.map((binding) =>
    slotOf(
      binding,
      gpus.find((gpu) => isOf(binding, gpu)),
      free,
      kind,
    ),
  );
  const claimed = new Set(slots.flatMap(({ candidate }) => (candidate === undefined ? [] : [candidate.uuid])));
  const names = new Set(slots.map(({ slot }) => slot));
  for (const gpu of free.filter(({ uuid }) => !claimed.has(uuid)).sort(byPlace)) {
    const slot = kind.name(gpu, names);
    if (slot === undefined) continue;
    names.add(slot);
    slots.push(slotOf({ slot, uuid: gpu.uuid, pciBusID: gpu.pciBusID }, gpu, [], kind));
  }
  return slots;
}

function slotOf(binding: SlotBinding, gpu: Gpu | undefined, free: readonly Gpu[], kind: Kind): InventorySlot {
  const node = nodeOfSlot(binding.slot);
  if (gpu === undefined) return missing(binding, node, free, kind);
  const [taint] = gpu.taints;
  const base = { ...binding, node, pciBusID: gpu.pciBusID ?? binding.pciBusID, gpu };
  if (taint === undefined) return { ...base, state: 'Ready' };
  const message = `the driver taints it with ${taint.key}${taint.value === undefined ? '' : `=${taint.value}`}: see to the device`;
  return { ...base, state: 'Tainted', message };
}

function missing(binding: SlotBinding, node: string, free: readonly Gpu[], kind: Kind): InventorySlot {
  const inPlace = (gpu: Gpu): boolean => gpu.node === node && gpu.pciBusID !== undefined && gpu.pciBusID === binding.pciBusID;
  const candidate = free.find((gpu) => inPlace(gpu) && kind.fits(binding.slot, gpu));
  const base = { ...binding, node, gpu: undefined };
  if (candidate === undefined) return { ...base, state: 'Gone', message: kind.gone(binding) };
  const message = `${candidate.uuid} is in the place of ${binding.uuid}: approve the new ${kind.noun}, or put the old one back`;
  return { ...base, state: 'Rebound', candidate, message };
}

function byPlace(a: Gpu, b: Gpu): number {
  const [first, second] = [`${a.node} ${a.pciBusID ?? '~'} ${a.uuid}`, `${b.node} ${b.pciBusID ?? '~'} ${b.uuid}`];
  return first < second ? -1 : first > second ? 1 : 0;
}
