// operator, placement/inventory: logical names of GPUs, their bindings to uuids, and slot states. May import protocol and kube.
import type { Gpu } from './resourceSlice.ts';

/** The GPU that a logical name stands for. It is set once, and changes only when a person asks for it. */
export interface SlotBinding {
  /** `<node>/gpu<n>`, or `<node>/gpu<n>-<profile>-<i>` for a MIG slice of that board. */
  readonly slot: string;
  readonly uuid: string;
  readonly pciBusID: string | undefined;
}

/** Partitioned: a board whose MIG slices are slots in its place. Pending: its driver has published a part of its pool only. */
export type SlotState = 'Ready' | 'Tainted' | 'Gone' | 'Rebound' | 'Partitioned' | 'Pending';

export interface InventorySlot extends SlotBinding {
  readonly node: string;
  readonly state: SlotState;
  /** The GPU that has the slot's uuid now. */
  readonly gpu: Gpu | undefined;
  /** With `Rebound`: the GPU that is in the place of the one that is gone. */
  readonly candidate?: Gpu;
  /** Reason why it is not Ready, and the cure. */
  readonly message?: string;
}

/** Properties in which boards and MIG slices differ when they get their names. */
export interface Kind {
  readonly noun: string;
  /** Reports whether a name may stand for it. */
  readonly fits: (slot: string, gpu: Gpu) => boolean;
  /** The name of one that has none; undefined: it gets none now. */
  readonly name: (gpu: Gpu, names: ReadonlySet<string>) => string | undefined;
  /** Message about a name whose GPU is not there. */
  readonly gone: (binding: SlotBinding) => string;
}

/** Gives GPUs of one kind their names, see `bindSlots`. */
export function bindKind(
  gpus: readonly Gpu[],
  bound: readonly SlotBinding[],
  approved: ReadonlyMap<string, string>,
  kind: Kind,
): readonly InventorySlot[] {
  // A name is of its node: a board that is in another one has a name there.
  const isOf = ({ slot, uuid }: SlotBinding, gpu: Gpu): boolean =>
    uuid === gpu.uuid && gpu.node === nodeOfSlot(slot) && kind.fits(slot, gpu);
  const rebound = bound.map((binding) => {
    const gpu = gpus.find(({ uuid }) => uuid === approved.get(binding.slot));
    // An approval counts only for one that is there, that may have the name, and that no other slot has.
    if (gpu === undefined || gpu.node !== nodeOfSlot(binding.slot) || !kind.fits(binding.slot, gpu)) return binding;
    if (bound.some((other) => other.slot !== binding.slot && isOf(other, gpu))) return binding;
    return { slot: binding.slot, uuid: gpu.uuid, pciBusID: gpu.pciBusID };
  });
  const free = gpus.filter((gpu) => !rebound.some((binding) => isOf(binding, gpu)));
  const slots = rebound.map((binding) => {
    const found = gpus.find((gpu) => isOf(binding, gpu));
    return found === undefined ? missing(binding, gpus, free, kind) : slotOf(binding, found);
  });
  const claimed = new Set(slots.flatMap(({ candidate }) => (candidate === undefined ? [] : [candidate.uuid])));
  const names = new Set(slots.map(({ slot }) => slot));
  for (const gpu of free.filter(({ uuid }) => !claimed.has(uuid)).sort(byPlace)) {
    const slot = kind.name(gpu, names);
    if (slot === undefined) continue;
    names.add(slot);
    slots.push(slotOf({ slot, uuid: gpu.uuid, pciBusID: gpu.pciBusID }, gpu));
  }
  return slots;
}

function slotOf(binding: SlotBinding, gpu: Gpu): InventorySlot {
  const state = gpu.taints.length === 0 ? 'Ready' : 'Tainted';
  return { ...binding, node: nodeOfSlot(binding.slot), pciBusID: gpu.pciBusID ?? binding.pciBusID, gpu, state };
}

/** A name whose GPU is not in its node; `free` are those without a name. */
function missing(binding: SlotBinding, gpus: readonly Gpu[], free: readonly Gpu[], kind: Kind): InventorySlot {
  const node = nodeOfSlot(binding.slot);
  const inPlace = (gpu: Gpu): boolean => gpu.node === node && gpu.pciBusID !== undefined && gpu.pciBusID === binding.pciBusID;
  const candidate = free.find((gpu) => inPlace(gpu) && kind.fits(binding.slot, gpu));
  const base = { ...binding, node, gpu: undefined };
  if (candidate === undefined) {
    const elsewhere = gpus.find((gpu) => gpu.uuid === binding.uuid && gpu.node !== node)?.node;
    const moved = `${kind.noun} ${binding.uuid} is in node ${elsewhere ?? ''} now: name its slot there`;
    return { ...base, state: 'Gone', message: elsewhere === undefined ? kind.gone(binding) : moved };
  }
  const message = `${candidate.uuid} is in the place of ${binding.uuid}: approve the new ${kind.noun}, or put the old one back`;
  return { ...base, state: 'Rebound', candidate, message };
}

function byPlace(a: Gpu, b: Gpu): number {
  const [first, second] = [`${a.node} ${a.pciBusID ?? '~'} ${a.uuid}`, `${b.node} ${b.pciBusID ?? '~'} ${b.uuid}`];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** Parts that a slot's name encodes. */
export interface SlotName {
  readonly node: string;
  /** Name of the board. */
  readonly board: string;
  readonly number: number;
  /** Of a MIG slice: its profile, as names can have it, and which one of the board's slices of this profile it is. */
  readonly slice: { readonly profile: string; readonly index: number } | undefined;
}

/** Profiles as `nvidia-smi mig -lgip` lists them: `2g.10gb`, `1c.3g.20gb`, `1g.5gb+me`. */
const profilePattern = /^([1-9]c\.)?[1-9]\d?g\.[1-9]\d{0,3}gb([-+][a-z][a-z.]{0,14}[a-z])?$/;

/** More slices of one profile never get a name on one board. */
const mostSlices = 100;

/** A profile as names of slots and of objects can have it, which know no `+`; undefined: it is none. */
export function profileName(profile: string): string | undefined {
  return profilePattern.test(profile) ? profile.replace('+', '-') : undefined;
}

/** Reads `<node>/gpu<n>` or `<node>/gpu<n>-<profile>-<i>`; undefined: it is no name of a slot. */
export function parseSlotName(slot: string): SlotName | undefined {
  const match = /^([^/]+)\/gpu(\d{1,3})(?:-(.+)-(\d{1,2}))?$/.exec(slot);
  if (match === null) return undefined;
  const [, node = '', number = '', profile, index = ''] = match;
  const slice = profile === undefined ? undefined : { profile, index: Number(index) };
  if (profile !== undefined && profileName(profile) === undefined) return undefined;
  return { node, board: `${node}/gpu${number}`, number: Number(number), slice };
}

/** The node of a slot. */
export function nodeOfSlot(slot: string): string {
  return slot.slice(0, slot.lastIndexOf('/'));
}

/** The next free name of a board of the node. */
export function nextBoard(node: string, names: ReadonlySet<string>): string {
  let number = 0;
  while (names.has(`${node}/gpu${number}`)) number += 1;
  return `${node}/gpu${number}`;
}

/** The next free name of a slice of the board; undefined: there are too many. */
export function nextSlice(board: string, profile: string, names: ReadonlySet<string>): string | undefined {
  for (let index = 0; index < mostSlices; index += 1) {
    const name = `${board}-${profile}-${index}`;
    if (!names.has(name)) return name;
  }
  return undefined;
}

/** Order of slots: by node, board, profile and number. */
export function bySlotName(a: string, b: string): number {
  const [first, second] = [orderOf(a), orderOf(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}

function orderOf(slot: string): string {
  const { node, number, slice } = parseSlotName(slot) ?? { node: nodeOfSlot(slot), number: 0, slice: undefined };
  const digits = (value: number): string => String(value).padStart(4, '0');
  return `${node} ${digits(number)}${slice === undefined ? '' : ` ${slice.profile} ${digits(slice.index)}`}`;
}
