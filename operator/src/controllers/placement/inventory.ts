import {
  bindSlots,
  conflictsOf,
  gpusOf,
  pluginGpus,
  usableBytes,
  type Gpu,
  type InventoryProblem,
  type DeviceTaint,
  type Link,
  type MigSlice,
  type SlotBinding,
  type SlotState,
} from '../../placement/index.ts';
import type { GpuDriver } from '../../runtime/context.ts';
import type { DeviceClass, Node, PublishedSlice } from '../../runtime/resources.ts';
import { countedSlots, injectionsOf, isCounted, sharingNodes, type HolderView, type Injections } from './reserve/index.ts';
import { defaultMigClass } from './claimNames.ts';
import { pluginSliceNodes } from './pluginSlices.ts';
import { sharingsOf, type SharingLines } from './sharing.ts';
import { acknowledgement, openTaints, type Acknowledged } from './acknowledged.ts';
import type { SlotBook } from './slots.ts';

/** A GPU that engines may be put on. */
export interface PlanSlot {
  readonly name: string;
  readonly node: string;
  readonly uuid: string | undefined;
  readonly pciBusID: string | undefined;
  readonly usableBytes: number;
  /** Why nobody new may be put there, with the cure. */
  readonly fault:
    | {
        readonly reason: 'SlotTainted' | 'SlotGone' | 'SlotRebound' | 'SlotPartitioned' | 'SlotNotHeld' | 'Conflict';
        readonly message: string;
      }
    | undefined;
  /** A DRA driver publishes it. */
  readonly published: boolean;
  readonly sharedByBytes: boolean;
  /** A device plugin hands it out. */
  readonly counted: boolean;
  /** The pod that holds it, when it has the very board that the slot stands for. */
  readonly holder: { readonly uid: string; readonly namespace: string } | undefined;
  /** Why the pod that is to hold it does not get on. */
  readonly trouble?: string;
  /** Keys of taints that a human has acknowledged. */
  readonly tolerated?: readonly string[];
  /** Set for a MIG slice: it has memory of its own and no way to other GPUs. */
  readonly mig?: MigSlice;
}

/** What the caches showed of the cluster's GPUs. */
export interface ClusterView {
  readonly driver: GpuDriver;
  /** Whether the cluster serves `resource.k8s.io/v1`. */
  readonly resourceApi: boolean;
  readonly slices: readonly PublishedSlice[];
  readonly deviceClasses: readonly DeviceClass[];
  readonly nodes: readonly Node[];
  /** Whether there is a RuntimeClass nvidia. */
  readonly runtimeClass: boolean;
  readonly book: SlotBook;
  /** Bindings that claims and plans record, for the case that the book is lost. */
  readonly recorded: readonly SlotBinding[];
  /** Pods that hold GPUs. */
  readonly holders: readonly HolderView[];
}

/** All that is known about the cluster's GPUs. */
export interface Inventory {
  readonly slots: readonly PlanSlot[];
  /** What is to be written down. */
  readonly bindings: readonly SlotBinding[];
  readonly links: readonly Link[];
  readonly resourceApi: boolean;
  readonly deviceClass: boolean;
  /** Whether there is the class of MIG slices. */
  readonly migDeviceClass: boolean;
  readonly runtimeClass: boolean;
  readonly pluginGpus: ReadonlyMap<string, number>;
  /** Nodes whose device plugin gives one GPU to several pods. */
  readonly sharing: readonly string[];
  readonly injections: Injections;
  /** Nodes whose GPUs two stacks hand out, with the cure. */
  readonly conflicts: ReadonlyMap<string, string>;
  readonly driver: GpuDriver;
  /** How slots are to be shared, and the lines that have no effect. */
  readonly sharings: SharingLines['rules'];
  readonly sharingFaults: SharingLines['faults'];
  /** Slots whose tenants start again for their line, as a human says. */
  readonly sharingAsked: SharingLines['asked'];
  /** Nodes whose device plugin hands out MIG slices, with the reason why they are no slots. */
  readonly pluginSlices: ReadonlyMap<string, string>;
  /** GPUs and lines that are not used, each with the reason. */
  readonly problems: readonly string[];
}

const faultOf = { Tainted: 'SlotTainted', Gone: 'SlotGone', Rebound: 'SlotRebound', Partitioned: 'SlotPartitioned' } as const;

/** The newest word about each slot: the book before what claims and plans recorded. */
function bindingsOf({ book, recorded }: ClusterView): readonly SlotBinding[] {
  const known = new Map(book.bindings.map((binding) => [binding.slot, binding]));
  const uuids = new Set(book.bindings.map(({ uuid }) => uuid));
  for (const binding of recorded) {
    if (known.has(binding.slot) || uuids.has(binding.uuid)) continue;
    known.set(binding.slot, binding);
    uuids.add(binding.uuid);
  }
  return [...known.values()];
}

/** GPUs that a driver publishes, and those that it once did. */
function publishedSlots(view: ClusterView, conflicts: ReadonlyMap<string, string>): readonly PlanSlot[] {
  const { gpus } = gpusOf(view.slices, view.driver.driver);
  const counted = new Set(countedNodes(view).map(({ metadata }) => metadata.name));
  const bound = bindingsOf(view).filter(({ slot }) => !counted.has(slot.slice(0, slot.lastIndexOf('/'))));
  return bindSlots(gpus, bound, view.book.approved).map(({ slot, node, uuid, pciBusID, gpu, state, message = '' }) => {
    const conflict = conflicts.get(node);
    const seen = view.book.acknowledged.get(slot) ?? [];
    const fault = slotFault({ slot, state, message, taints: gpu?.taints ?? [] }, seen);
    return {
      name: slot,
      node,
      uuid,
      pciBusID,
      // The memory of a MIG slice is what is left when the driver has taken its part of the board.
      usableBytes: gpu?.mig === undefined ? usableBytes(gpu?.memoryBytes ?? 0) : gpu.memoryBytes,
      fault: fault ?? (conflict === undefined ? undefined : { reason: 'Conflict', message: conflict }),
      published: gpu !== undefined,
      sharedByBytes: gpu?.sharedByBytes === true,
      counted: false,
      holder: undefined,
      ...(gpu?.mig === undefined ? {} : { mig: gpu.mig }),
      ...(seen.length === 0 ? {} : { tolerated: [...new Set(seen.map(({ key }) => key))].sort() }),
    };
  });
}

interface Seen {
  readonly slot: string;
  readonly state: SlotState;
  readonly message: string;
  readonly taints: readonly DeviceTaint[];
}

function slotFault({ slot, state, message, taints }: Seen, seen: readonly Acknowledged[]): PlanSlot['fault'] {
  if (state === 'Ready') return undefined;
  if (state === 'Rebound') return { reason: faultOf[state], message: `${message} ${approval(slot)}` };
  if (state !== 'Tainted') return { reason: faultOf[state], message };
  const [taint] = openTaints(taints, seen);
  if (taint === undefined) return undefined;
  const value = taint.value === undefined ? '' : `=${taint.value}`;
  return { reason: faultOf[state], message: `the driver taints it with ${taint.key}${value}: ${acknowledgement(slot, taint)}` };
}

function approval(slot: string): string {
  return `(annotate ConfigMap agentfleet-slots of the operator: agentfleet.dev/approve-slot=${slot}=<uuid>)`;
}

/** Nodes whose GPUs a device plugin hands out and no driver publishes. */
function countedNodes({ slices, driver, nodes, holders }: ClusterView): readonly Node[] {
  const driven = new Set(gpusOf(slices, driver.driver).gpus.map(({ node }) => node));
  return nodes.filter((node) => !driven.has(node.metadata.name) && isCounted(node, holders));
}

/** GPUs that a device plugin counts: no driver publishes them. */
function pluginSlots(view: ClusterView, known: ReadonlySet<string>): readonly PlanSlot[] {
  return countedNodes(view)
    .filter(({ metadata }) => !known.has(metadata.name))
    .flatMap((node) => countedSlots(view, node));
}

/** The GPUs of the cluster, by their names. Pure and deterministic. `now` is wall time in ms. */
export function inventoryOf(view: ClusterView, now: number): Inventory {
  const { driver, nodes, deviceClasses } = view;
  const classOf = (wanted: string): DeviceClass | undefined => deviceClasses.find(({ metadata }) => metadata.name === wanted);
  const deviceClass = classOf(driver.deviceClass);
  const { gpus, problems } = gpusOf(view.slices, driver.driver);
  const conflicts = new Map(
    nodes.flatMap((node) =>
      conflictsOf([node], gpus, deviceClass?.spec?.extendedResourceName).map((message) => [node.metadata.name, message] as const),
    ),
  );
  const published = publishedSlots(view, conflicts);
  const slots = [...published, ...pluginSlots(view, new Set(published.map(({ node }) => node)))];
  const bindings = slots.flatMap(({ name, uuid, pciBusID }) => (uuid === undefined ? [] : [{ slot: name, uuid, pciBusID }]));
  const reported = [...problems, ...withoutName(gpus, published)].map(({ node, message }) => `${node}: ${message}`);
  return {
    slots,
    bindings,
    links: view.book.links,
    resourceApi: view.resourceApi,
    deviceClass: deviceClass !== undefined,
    migDeviceClass: classOf(driver.migDeviceClass ?? defaultMigClass) !== undefined,
    runtimeClass: view.runtimeClass,
    pluginGpus: new Map(nodes.map((node) => [node.metadata.name, pluginGpus(node)])),
    sharing: sharingNodes(nodes),
    injections: injectionsOf(view.book.probes, nodes, now),
    conflicts,
    driver,
    pluginSlices: pluginSliceNodes(nodes),
    ...tellSharing(view, slots, reported),
  };
}

function tellSharing(
  { book, driver }: ClusterView,
  slots: readonly PlanSlot[],
  reported: readonly string[],
): Pick<Inventory, 'sharings' | 'sharingFaults' | 'sharingAsked' | 'problems'> {
  const { rules, faults, asked } = sharingsOf(book.sharing, slots, driver.driver);
  return { sharings: rules, sharingFaults: faults, sharingAsked: asked, problems: [...reported, ...faults.map(({ message }) => message)] };
}

/** MIG slices that have no name yet, as their board or they themselves wait for a human. */
function withoutName(gpus: readonly Gpu[], slots: readonly PlanSlot[]): readonly InventoryProblem[] {
  const named = new Set(slots.flatMap(({ uuid, mig }) => (mig === undefined ? [] : [uuid])));
  return gpus
    .filter(({ mig, uuid }) => mig !== undefined && !named.has(uuid))
    .map(({ node, uuid, mig }) => ({
      node,
      message: `MIG slice ${uuid} (${mig?.profile ?? ''}) of board ${mig?.parentUUID ?? ''} is no slot before the board or the slice is approved`,
    }));
}
