// operator, placement/inventory: assignment of names to GPUs, closed nodes, GPUs of device plugins. May import protocol and kube.
import {
  bindKind,
  type InventorySlot,
  type Kind,
  type SlotBinding,
  bySlotName,
  nextBoard,
  nextSlice,
  nodeOfSlot,
  parseSlotName,
  profileName,
} from './naming.ts';
import type { Gpu } from './resourceSlice.ts';

/**
 * Gives GPUs their logical names. Names that are bound stay with their uuid; GPUs that have none get the next free
 * number of their node, in the order of their PCI bus. A GPU in the place of one that is gone (a board swap) gets no name
 * by itself: its slot is `Rebound` until `approved` names the slot's new uuid. A board that is divided keeps its name and is no place
 * for anybody; its MIG slices have names under it, by the same rules. What is not seen of a node in `pending` is not gone: see
 * `gpusOf`. Deterministic.
 */
export function bindSlots(
  gpus: readonly Gpu[],
  bound: readonly SlotBinding[],
  approved: ReadonlyMap<string, string> = new Map(),
  pending: ReadonlyMap<string, string> = new Map(),
): readonly InventorySlot[] {
  const slices = gpus.filter(({ mig }) => mig !== undefined);
  const isSlice = ({ slot }: SlotBinding): boolean => parseSlotName(slot)?.slice !== undefined;
  const ofSlices = bound.filter(isSlice);
  const ofBoards = bound.filter((binding) => !isSlice(binding));
  const boards = bindKind(boardsOf(gpus), [...ofBoards, ...impliedBoards(ofBoards, ofSlices, slices)], approved, boardKind);
  const parts = bindKind(slices, ofSlices, approved, sliceKind(boards));
  const divided = new Set(slices.map(({ mig }) => mig?.parentUUID));
  const all = boards.map((board) => (board.gpu !== undefined && divided.has(board.uuid) ? withoutPlace(board, parts) : board));
  return [...all, ...parts].map((slot) => awaited(slot, pending.get(slot.node))).sort((a, b) => bySlotName(a.slot, b.slot));
}

/** Whole boards, and those that only show as the parents of slices. */
function boardsOf(gpus: readonly Gpu[]): readonly Gpu[] {
  const boards = new Map(gpus.filter(({ mig }) => mig === undefined).map((gpu) => [gpu.uuid, gpu]));
  for (const { mig, pciBusID, ...slice } of gpus) {
    if (mig === undefined || boards.has(mig.parentUUID)) continue;
    const [bus] = pciBusID?.split('@') ?? [];
    boards.set(mig.parentUUID, { ...slice, uuid: mig.parentUUID, pciBusID: bus, device: '', memoryBytes: 0, taints: [] });
  }
  return [...boards.values()];
}

/** Boards of which only slices were written down: the name of a slice contains that of its board. */
function impliedBoards(boards: readonly SlotBinding[], bound: readonly SlotBinding[], slices: readonly Gpu[]): readonly SlotBinding[] {
  const implied = new Map<string, SlotBinding>();
  for (const { slot, uuid } of bound) {
    const { board = '' } = parseSlotName(slot) ?? {};
    const { mig, pciBusID } = slices.find((gpu) => gpu.uuid === uuid) ?? {};
    if (mig === undefined || implied.has(board)) continue;
    const known = [...boards, ...implied.values()].some((other) => other.slot === board || other.uuid === mig.parentUUID);
    if (!known) implied.set(board, { slot: board, uuid: mig.parentUUID, pciBusID: pciBusID?.split('@')[0] });
  }
  return [...implied.values()];
}

const boardKind: Kind = {
  noun: 'board',
  fits: () => true,
  name: ({ node }, names) => nextBoard(node, names),
  gone: ({ slot, uuid }) => `no GPU of ${nodeOfSlot(slot)} has its uuid ${uuid}: is the board lost?`,
};

/** A board that is divided again may give the same uuid to a slice of another size: that is another slot. */
function sliceKind(boards: readonly InventorySlot[]): Kind {
  const names = new Map(boards.filter(({ gpu }) => gpu !== undefined).map(({ slot, uuid }) => [uuid, slot]));
  return {
    noun: 'MIG slice',
    fits: (slot, { mig }) => parseSlotName(slot)?.slice?.profile === profileName(mig?.profile ?? ''),
    name({ mig }, taken) {
      // Slices of a board that waits for a human wait with it.
      const board = names.get(mig?.parentUUID ?? '');
      const profile = profileName(mig?.profile ?? '');
      return board === undefined || profile === undefined ? undefined : nextSlice(board, profile, taken);
    },
    gone({ slot, uuid }) {
      const { board = '', slice } = parseSlotName(slot) ?? {};
      return `no MIG slice ${slice?.profile ?? ''} of ${board} has its uuid ${uuid}: was the board divided anew?`;
    },
  };
}

/** A board whose slices are slots: it would give their memory away a second time. */
function withoutPlace({ candidate: _candidate, ...board }: InventorySlot, parts: readonly InventorySlot[]): InventorySlot {
  const names = parts.filter(({ gpu }) => gpu?.mig?.parentUUID === board.uuid).map(({ slot }) => slot);
  const message = `it is divided into MIG slices: name one of them (${names.sort(bySlotName).join(', ')}), or undo the division`;
  return { ...board, state: 'Partitioned', gpu: undefined, message };
}

/** A name whose GPU may be in the part that is yet to be published. */
function awaited(slot: InventorySlot, message: string | undefined): InventorySlot {
  if (message === undefined || (slot.state !== 'Gone' && slot.state !== 'Rebound')) return slot;
  const { candidate: _candidate, ...rest } = slot;
  return { ...rest, state: 'Pending', message };
}

interface NodeTaint {
  readonly key: string;
  readonly effect: string;
}

/**
 * Reports whether Kubernetes itself keeps pods off a node by a taint: cordoned, not ready, unreachable, out of memory or disk. No engine
 * tolerates one.
 */
export function isClosingTaint({ key, effect }: NodeTaint): boolean {
  return key.startsWith('node.kubernetes.io/') && effect !== 'PreferNoSchedule';
}

/** Returns the reason why the scheduler brings no pod to a node, with the cure; undefined: it does. Pure. */
export function closedBy({ metadata: { name }, spec: { unschedulable = false, taints = [] } = {} }: GpuNode): string | undefined {
  if (unschedulable) return `node ${name} takes no pods (it is cordoned): kubectl uncordon ${name}, or name a slot of another node`;
  const keys = taints.filter(isClosingTaint).map(({ key }) => key);
  return keys.length === 0 ? undefined : `node ${name} takes no pods (${[...new Set(keys)].sort().join(', ')}): see to the node`;
}

/** Fields that are read of a node. */
export interface GpuNode {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly NodeTaint[] };
  readonly status?: { readonly allocatable?: Readonly<Record<string, string>> };
}

/** The extended resource that the device plugin counts whole GPUs by. */
const pluginResource = 'nvidia.com/gpu';

/** Those that it counts MIG slices by (strategy mixed): `nvidia.com/mig-2g.10gb`. */
const sliceResource = /^nvidia\.com\/mig-/;

/** Reports whether the device plugin counts GPUs or their MIG slices by a resource. */
export function isPluginResource(name: string): boolean {
  return name === pluginResource || sliceResource.test(name);
}

/** GPUs of a node that the device plugin hands out; it does not report which ones. */
export function pluginGpus(node: GpuNode): number {
  return countOf(node.status?.allocatable?.[pluginResource]);
}

/** Resources by which the device plugin of a node hands out MIG slices; it does not report of which board. */
export function pluginSlices({ status }: GpuNode): readonly string[] {
  const entries = Object.entries(status?.allocatable ?? {}).filter(([name, count]) => sliceResource.test(name) && countOf(count) > 0);
  return entries.map(([name]) => name).sort();
}

function countOf(amount = '0'): number {
  const count = Number(amount);
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}

/**
 * Nodes whose GPUs two stacks hand out, the device plugin and a DRA driver: each believes that a GPU is free which the
 * other one gave away. No conflict where the DeviceClass itself serves the extended resource, as then one allocator does.
 */
export function conflictsOf(
  nodes: readonly GpuNode[],
  gpus: readonly Pick<Gpu, 'node' | 'driver'>[],
  extendedResourceName: string | undefined,
): readonly string[] {
  const driven = new Map(gpus.map((gpu) => [gpu.node, gpu.driver]));
  return nodes
    .flatMap((node) => {
      const offered = [...(pluginGpus(node) > 0 ? [pluginResource] : []), ...pluginSlices(node)];
      const [resource] = offered.filter((name) => name !== extendedResourceName);
      const driver = driven.get(node.metadata.name);
      if (resource === undefined || driver === undefined) return [];
      return [
        `node ${node.metadata.name}: the device plugin offers ${resource} and ${driver} publishes the same GPUs: ` +
          `remove one of them, or let the DeviceClass serve ${resource} (extendedResourceName)`,
      ];
    })
    .sort();
}
