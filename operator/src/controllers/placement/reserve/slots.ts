import type { ClusterView, HolderView, PlanSlot } from '../model/index.ts';
import { bytesOf, pluginGpus, usableBytes, type SlotBinding } from '../../../placement/index.ts';
import type { Node } from '../../../runtime/resources.ts';
import { podTrouble } from '../../../serving/index.ts';

/** What NVIDIA's feature discovery tells of the GPUs of a node: MiB of each, and whether the plugin gives one to several pods. */
const memoryLabel = 'nvidia.com/gpu.memory';
const sharingLabel = 'nvidia.com/gpu.sharing-strategy';

/** Nodes whose device plugin gives one GPU to several pods: it counts shares, and two holders may get one board. */
export function sharingNodes(nodes: readonly Node[]): readonly string[] {
  return nodes.filter(({ metadata }) => !['', 'none'].includes(metadata.labels?.[sharingLabel] ?? '')).map(({ metadata }) => metadata.name);
}

const nodeOf = (slot: string): string => slot.slice(0, slot.lastIndexOf('/'));

/** Nodes whose GPUs a device plugin hands out, as far as can be reported. */
export function isCounted(node: Node, holders: readonly HolderView[]): boolean {
  return pluginGpus(node) > 0 || holders.some(({ slot, alive }) => alive && nodeOf(slot) === node.metadata.name);
}

/**
 * GPUs that the device plugin of a node counts. They have numbers; which board a number is, is learned from the pod that holds
 * it, and stays what it is as long as the slot has tenants.
 */
export function countedSlots(view: ClusterView, node: Node): readonly PlanSlot[] {
  const { name } = node.metadata;
  const bytes = bytesOf(`${node.metadata.labels?.[memoryLabel] ?? ''}Mi`);
  const held = view.holders.filter(({ slot, alive }) => alive && nodeOf(slot) === name);
  const counted = bytes === undefined ? [] : Array.from({ length: pluginGpus(node) }, (_, index) => `${name}/gpu${index}`);
  // A plugin that is restarted counts none for a while, and what is held is held.
  return [...new Set([...counted, ...held.map(({ slot }) => slot)])].sort(byNumber).map((slot): PlanSlot => ({
    name: slot,
    node: name,
    usableBytes: usableBytes(bytes ?? 0),
    published: false,
    sharedByBytes: false,
    counted: true,
    ...stateOf(slot, view),
  }));
}

const numberOf = (slot: string): number => Number(slot.slice(slot.lastIndexOf('/gpu') + '/gpu'.length));
const byNumber = (a: string, b: string): number => numberOf(a) - numberOf(b);

type State = Pick<PlanSlot, 'uuid' | 'pciBusID' | 'fault' | 'holder' | 'trouble'>;

/** What a slot with tenants stands for: the newest word of the book, before those of plans. */
function bindingOf(slot: string, { book, recorded }: ClusterView): SlotBinding | undefined {
  const planned = recorded.find((binding) => binding.slot === slot);
  return planned === undefined ? undefined : (book.bindings.find((binding) => binding.slot === slot) ?? planned);
}

function stateOf(slot: string, view: ClusterView): State {
  const bound = bindingOf(slot, view);
  const holder = view.holders.find((known) => known.slot === slot && known.alive);
  const free: State = { uuid: bound?.uuid, pciBusID: bound?.pciBusID, fault: undefined, holder: undefined };
  if (holder?.reported === undefined) {
    const { error } = holder ?? {};
    if (error !== undefined) return { ...free, fault: { reason: 'SlotNotHeld', message: `its holder says: ${error}` } };
    const trouble = holder === undefined ? undefined : podTrouble(holder.pod);
    return trouble === undefined ? free : { ...free, trouble };
  }
  const { reported } = holder;
  const twin = winnerOf(reported.uuid, view);
  if (twin !== slot) {
    const message = `its holder was given ${reported.uuid}, which ${twin} has: turn off time-slicing in the device plugin`;
    return { ...free, fault: { reason: 'Conflict', message } };
  }
  if (bound !== undefined && bound.uuid !== reported.uuid && view.book.approved.get(slot) !== reported.uuid) {
    const message =
      `${reported.uuid} is in the place of ${bound.uuid}: approve the new board, or delete pod ${holder.namespace}/${holder.pod.metadata.name} ` +
      `when the old one is free (annotate ConfigMap agentfleet-slots of the operator: agentfleet.dev/approve-slot=${slot}=<uuid>)`;
    return { ...free, fault: { reason: 'SlotRebound', message } };
  }
  return { ...reported, fault: undefined, holder: { uid: holder.uid, namespace: holder.namespace } };
}

/** The slot that has a board which several holders say they have: the one that it was bound to, else the first. */
function winnerOf(uuid: string, view: ClusterView): string {
  const claimants = view.holders.filter(({ alive, reported }) => alive && reported?.uuid === uuid).map(({ slot }) => slot);
  const before = claimants.filter((slot) => bindingOf(slot, view)?.uuid === uuid);
  const [first = ''] = [...(before.length > 0 ? before : claimants)].sort();
  return first;
}
