import type { Acknowledged, ClusterView, Inventory, PlanSlot, Owner } from './model/index.ts';
import {
  bindSlots,
  closedBy,
  conflictsOf,
  gpusOf,
  pluginGpus,
  usableBytes,
  type Gpu,
  type InventoryProblem,
  type DeviceTaint,
  type SlotBinding,
  type SlotState,
  nodeOfSlot,
  parseSlotName,
  pluginSlices,
} from '../../placement/index.ts';
import type { DeviceClass, Node } from '../../runtime/resources.ts';
import { countedSlots, injectionsOf, isCounted, sharingNodes } from './reserve/index.ts';
import { defaultMigClass } from './claims.ts';
import { sharingsOf, acknowledgement, openTaints } from './slots.ts';

const faultOf = {
  Tainted: 'SlotTainted',
  Gone: 'SlotGone',
  Rebound: 'SlotRebound',
  Partitioned: 'SlotPartitioned',
  Pending: 'SlotPending',
} as const;

/** Nodes whose GPUs the driver publishes, or is about to: which ones is not known then. */
function driven({ slices, driver }: ClusterView): readonly Pick<Gpu, 'node' | 'driver'>[] {
  const { gpus, pending } = gpusOf(slices, driver.driver);
  return [...gpus, ...[...pending.keys()].map((node) => ({ node, driver: driver.driver }))];
}

/** The newest word about each slot: the book before what claims and plans recorded. */
function bindingsOf({ book, recorded }: ClusterView): readonly SlotBinding[] {
  const known = new Map(book.bindings.map((binding) => [binding.slot, binding]));
  // A board that moved has a name in each node that it was in.
  const boardOf = ({ slot, uuid }: SlotBinding): string => `${nodeOfSlot(slot)} ${uuid}`;
  const boards = new Set(book.bindings.map(boardOf));
  for (const binding of recorded) {
    if (known.has(binding.slot) || boards.has(boardOf(binding))) continue;
    known.set(binding.slot, binding);
    boards.add(boardOf(binding));
  }
  return [...known.values()];
}

/** GPUs that a driver publishes, and those that it once did. */
function publishedSlots(view: ClusterView, conflicts: ReadonlyMap<string, string>): readonly PlanSlot[] {
  const { gpus, pending } = gpusOf(view.slices, view.driver.driver);
  const counted = new Set(countedNodes(view).map(({ metadata }) => metadata.name));
  const bound = bindingsOf(view).filter(({ slot }) => !counted.has(nodeOfSlot(slot)));
  return bindSlots(gpus, bound, view.book.approved, pending).map(({ slot, node, uuid, pciBusID, gpu, state, message = '' }) => {
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

/**
 * The bindings that are kept: a node that neither is there nor is named by anybody is forgotten with all of its boards. `names`
 * are the slots of specs, plans and claims. Pure.
 */
export function bindingsToKeep(bindings: readonly SlotBinding[], view: ClusterView, names: readonly string[]): readonly SlotBinding[] {
  const { links, approved, acknowledged, sharing } = view.book;
  const said = [...links.flatMap(({ a, b }) => [a, b]), ...approved.keys(), ...acknowledged.keys(), ...sharing.rules.keys()];
  const nodes = new Set([
    ...view.nodes.map(({ metadata }) => metadata.name),
    ...driven(view).map(({ node }) => node),
    ...[...names, ...said].map(nodeOfSlot),
  ]);
  return bindings.filter(({ slot }) => nodes.has(nodeOfSlot(slot)));
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
function countedNodes(view: ClusterView): readonly Node[] {
  const published = new Set(driven(view).map(({ node }) => node));
  return view.nodes.filter((node) => !published.has(node.metadata.name) && isCounted(node, view.holders));
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
  const stacks = driven(view);
  const conflicts = new Map(
    nodes.flatMap((node) =>
      conflictsOf([node], stacks, deviceClass?.spec?.extendedResourceName).map((message) => [node.metadata.name, message] as const),
    ),
  );
  const published = publishedSlots(view, conflicts);
  const slots = [...published, ...pluginSlots(view, new Set(published.map(({ node }) => node)))];
  const bindings = slots.flatMap(({ name, uuid, pciBusID }) => (uuid === undefined ? [] : [{ slot: name, uuid, pciBusID }]));
  const faults = [...problems, ...withoutName(gpus, published)].map(({ node, message }) => `${node}: ${message}`);
  return {
    slots: closedSlots(slots, nodes),
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
    ...tellSharing(view, slots, faults),
  };
}

/** Sound slots of nodes that take no pods: whoever is there stays, and none comes. One that is not ready may still run what it runs. */
function closedSlots(slots: readonly PlanSlot[], nodes: readonly Node[]): readonly PlanSlot[] {
  const closed = new Map(
    nodes.flatMap((node): readonly (readonly [string, PlanSlot['fault']])[] => {
      const message = closedBy(node);
      const reason = node.spec?.unschedulable === true ? 'NodeCordoned' : 'NodeUnschedulable';
      return message === undefined ? [] : [[node.metadata.name, { reason, message }]];
    }),
  );
  return slots.map((slot) => ({ ...slot, fault: slot.fault ?? closed.get(slot.node) }));
}

function tellSharing(
  { book, driver }: ClusterView,
  slots: readonly PlanSlot[],
  reported: readonly string[],
): Pick<Inventory, 'lines' | 'problems'> {
  const lines = sharingsOf(book.sharing, slots, driver.driver);
  return { lines, problems: [...reported, ...lines.faults.map(({ message }) => message)] };
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

/** Nodes whose device plugin hands out MIG slices by a count for each profile, and why they are no slots. */
function pluginSliceNodes(nodes: readonly Node[]): ReadonlyMap<string, string> {
  return new Map(
    nodes.flatMap((node) => {
      const resources = pluginSlices(node);
      if (resources.length === 0) return [];
      const { name } = node.metadata;
      const message =
        `node ${name}: the device plugin hands out MIG slices (${resources.join(', ')}) and does not say which: ` +
        'they are slots where the DRA driver publishes them; install it in the place of the plugin';
      return [[name, message] as const];
    }),
  );
}

/** The reason for engines that name a MIG slice of such a node, or that find no GPU at all; undefined: it does not concern them. */
export function slicesOfPlugin({ requests }: Owner, slots: readonly PlanSlot[], inventory: Inventory): string | undefined {
  const named = requests.flatMap(({ slot = '' }) => (parseSlotName(slot)?.slice === undefined ? [] : [nodeOfSlot(slot)]));
  const node = named.find((name) => inventory.pluginSlices.has(name));
  if (node !== undefined) return inventory.pluginSlices.get(node);
  return slots.length === 0 && inventory.slots.length === 0 ? [...inventory.pluginSlices.values()][0] : undefined;
}
