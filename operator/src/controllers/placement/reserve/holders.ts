import { referenceOf, type Holder, type HolderView, type Owner, type ClusterView, type PlanSlot } from '../model/index.ts';
import { holderComponent } from '../../../operands/index.ts';
import { canonical, type OwnerReference } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import {
  gpuRuntimeClass,
  gpuTolerations,
  hostname,
  slotClaimName,
  slotLabel,
  bytesOf,
  pluginGpus,
  usableBytes,
  type SlotBinding,
  nodeOfSlot,
} from '../../../placement/index.ts';
import { isOver, type Pod, type Node } from '../../../runtime/resources.ts';
import { containerSecurity, podSecurity, podTrouble } from '../../../serving/index.ts';

/**
 * Seconds that a holder outlives the word to stop: as long as the slowest of its tenants drains by default (120 s, and 15 to
 * end), so that no other pod gets the GPU before.
 */
const graceSeconds = 150;

const uuidPattern = /^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const longestError = 300;

function answerIn(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const answer = JSON.parse(text ?? '') as unknown;
    return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Returns the report of a pod that holds a GPU; undefined when it is none. Pure. */
export function holderView(pod: Pod): HolderView | undefined {
  const { metadata, status } = pod;
  const slot = metadata.annotations?.[slotLabel];
  if (metadata.labels?.[labels.component] !== holderComponent || slot === undefined) return undefined;
  const first = status?.initContainerStatuses?.[0];
  const { uuid, pciBusID, error } = answerIn((first?.state?.terminated ?? first?.lastState?.terminated)?.message);
  const bus = typeof pciBusID === 'string' && /^[0-9a-f:.]{1,20}$/.test(pciBusID) ? pciBusID : undefined;
  return {
    slot,
    namespace: metadata.namespace ?? '',
    uid: metadata.uid ?? '',
    alive: metadata.deletionTimestamp === undefined && !isOver(pod),
    reported: typeof uuid === 'string' && uuidPattern.test(uuid) ? { uuid, pciBusID: bus } : undefined,
    error: typeof error === 'string' ? error.slice(0, longestError) : undefined,
    pod,
  };
}

/** Holder of a slot, and the owners that it holds the slot for. */
interface WantedHolder {
  readonly slot: string;
  readonly namespace: string;
  readonly ownerReferences: readonly OwnerReference[];
}

/** The GPUs that the plans in force need held: one holder for each slot and namespace. Pure. */
export function wantedHolders(holders: readonly Holder[]): readonly WantedHolder[] {
  const groups = new Map<string, { readonly slot: string; readonly owners: Map<string, Owner> }>();
  for (const { owner, assignments, mode } of holders) {
    if (owner.going || mode !== 'Reservation') continue;
    for (const { slot } of assignments) {
      const key = `${owner.namespace}/${slot}`;
      const group = groups.get(key) ?? { slot, owners: new Map<string, Owner>() };
      group.owners.set(owner.key, owner);
      groups.set(key, group);
    }
  }
  return [...groups.values()].map(({ slot, owners }) => {
    const sorted = [...owners].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, owner]) => owner);
    // One owner has to be its controller: a pod without one is in the way when a node is drained.
    const ownerReferences = sorted.map((owner, index) => ({ ...referenceOf(owner), controller: index === 0 }));
    return { slot, namespace: sorted[0]?.namespace ?? '', ownerReferences };
  });
}

/** Changes that are made to holders. */
export interface HolderChanges {
  readonly make: readonly WantedHolder[];
  /** Pods whose owners are others now. */
  readonly own: readonly { readonly pod: Pod; readonly ownerReferences: readonly OwnerReference[] }[];
  readonly end: readonly Pod[];
}

/** Grace of a holder whose tenants are gone, s. */
export const endSeconds = 1;

/**
 * A holder is made where none is, in whatever namespace and however far it is from its end, so that one slot never has two.
 * One that is no longer needed ends when no engine that sits on its GPU is left. Pure.
 */
export function holderChanges(wanted: readonly WantedHolder[], present: readonly HolderView[], inUse: ReadonlySet<string>): HolderChanges {
  const key = ({ namespace, slot }: { readonly namespace: string; readonly slot: string }): string => `${namespace}/${slot}`;
  const needed = new Map(wanted.map((holder) => [key(holder), holder]));
  const taken = new Set(present.map(({ slot }) => slot));
  const references = (of: readonly OwnerReference[]): string =>
    canonical(of.map(({ uid, controller = false }) => `${uid} ${String(controller)}`));
  return {
    make: wanted.filter(({ slot }) => !taken.has(slot)),
    own: present.flatMap((holder) => {
      const ownerReferences = needed.get(key(holder))?.ownerReferences;
      if (!holder.alive || ownerReferences === undefined) return [];
      if (references(ownerReferences) === references(holder.pod.metadata.ownerReferences ?? [])) return [];
      return [{ pod: holder.pod, ownerReferences }];
    }),
    end: present.flatMap((holder) => {
      const { metadata } = holder.pod;
      const hastened = metadata.deletionTimestamp !== undefined && (metadata.deletionGracePeriodSeconds ?? endSeconds) <= endSeconds;
      const kept = holder.alive && needed.has(key(holder));
      return hastened || kept || inUse.has(holder.uid) ? [] : [holder.pod];
    }),
  };
}

/**
 * The pod that holds a GPU: its first container reports which one the device plugin gave, and ends; the second one has the same,
 * keeps it and does nothing. The report stands in the pod's status, so that the pod need not be reachable. Nothing of a version is in
 * it but its image, which is never changed. Pure.
 */
export function holderPod({ slot, namespace, ownerReferences }: WantedHolder, image: string): Pod {
  const container = (name: string, task: string): object => ({
    name,
    image,
    args: [task],
    resources: {
      requests: { cpu: '5m', memory: '96Mi', 'nvidia.com/gpu': '1' },
      limits: { memory: '96Mi', 'nvidia.com/gpu': '1' },
    },
    securityContext: containerSecurity,
  });
  const metadata = {
    name: slotClaimName(slot),
    namespace,
    labels: { [labels.component]: holderComponent, [slotLabel]: slotClaimName(slot) },
    annotations: { [slotLabel]: slot },
    ownerReferences,
  };
  const spec = {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: graceSeconds,
    securityContext: podSecurity,
    runtimeClassName: gpuRuntimeClass,
    nodeSelector: { [hostname]: nodeOfSlot(slot) },
    tolerations: gpuTolerations,
    initContainers: [container('tell', 'tell-gpu')],
    containers: [container('hold', 'hold-gpu')],
  };
  return { metadata, spec } as unknown as Pod;
}

/** Labels by which NVIDIA's feature discovery reports the GPUs of a node: MiB of each, and whether the plugin gives one to several pods. */
const memoryLabel = 'nvidia.com/gpu.memory';

const sharingLabel = 'nvidia.com/gpu.sharing-strategy';

/** Nodes whose device plugin gives one GPU to several pods: it counts shares, and two holders may get one board. */
export function sharingNodes(nodes: readonly Node[]): readonly string[] {
  return nodes.filter(({ metadata }) => !['', 'none'].includes(metadata.labels?.[sharingLabel] ?? '')).map(({ metadata }) => metadata.name);
}

/** Nodes whose GPUs a device plugin hands out, as far as is known. */
export function isCounted(node: Node, holders: readonly HolderView[]): boolean {
  return pluginGpus(node) > 0 || holders.some(({ slot, alive }) => alive && nodeOfSlot(slot) === node.metadata.name);
}

/**
 * GPUs that the device plugin of a node counts. They have numbers; which board a number is, is learned from the pod that holds
 * it, and stays what it is as long as the slot has tenants.
 */
export function countedSlots(view: ClusterView, node: Node): readonly PlanSlot[] {
  const { name } = node.metadata;
  const bytes = bytesOf(`${node.metadata.labels?.[memoryLabel] ?? ''}Mi`);
  const held = view.holders.filter(({ slot, alive }) => alive && nodeOfSlot(slot) === name);
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

/** Returns the binding that a slot with tenants stands for: the newest one of the book, before those of plans. */
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
