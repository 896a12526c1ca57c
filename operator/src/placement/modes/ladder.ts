// operator, placement/modes: choice of the mode of GPU access, and pod fields by mode. May import inventory, protocol and kube.
import { slotClaimName, slotRequest } from './slotClaim.ts';

/** Modes in which engines get at their GPUs, the best first. */
export const modes = ['DRA', 'Reservation', 'WholeGPU'] as const;
export type Mode = (typeof modes)[number];

/** Result of a pod that asked for a GPU by its environment. */
export type Injection = 'Works' | 'Refused' | 'Silent';

export interface SlotFacts {
  readonly name: string;
  readonly node: string;
  readonly published: boolean;
  /** Pods on it, of engines of all pools and models. */
  readonly pods: number;
}

/** Facts that were found out about the cluster and about the plan's slots. */
export interface ModeFacts {
  /** Whether the API server serves `resource.k8s.io/v1`. */
  readonly resourceApi: boolean;
  /** Whether the driver's DeviceClass is there. */
  readonly deviceClass: boolean;
  /** Two stacks hand out the GPUs of one node; the messages say which. */
  readonly conflicts: readonly string[];
  /** Slots of the plan, each with its node, whether a driver publishes its GPU, and how many pods are there. */
  readonly slots: readonly SlotFacts[];
  /** GPUs that the device plugin offers, by node. */
  readonly pluginGpus: ReadonlyMap<string, number>;
  /** Whether the RuntimeClass that injects GPUs by environment is there. */
  readonly runtimeClass: boolean;
  /** Nodes whose device plugin gives one GPU to several pods. */
  readonly sharing?: readonly string[];
  /** Reason why MIG slices that a device plugin hands out are no slots, where these engines would need them. */
  readonly slicesOfPlugin?: string | undefined;
  /** Result of probe pods that asked for a GPU by environment; Silent: one never got on; undefined: one is yet to answer. */
  readonly injection: Injection | undefined;
}

export interface SkippedMode {
  readonly mode: Mode;
  /** Description of what it lacks, and of what would give it. */
  readonly reason: string;
}

export interface ModeChoice {
  /** Absent when no mode can be used; then the reasons say what each lacks. */
  readonly mode: Mode | undefined;
  readonly skipped: readonly SkippedMode[];
  /** Set when a probe pod has to answer first. */
  readonly asks?: true;
}

/** Picks the first mode whose requirements hold; a mode that the user names is taken or refused, never exchanged. Pure. */
export function chooseMode(requested: Mode | 'Auto', facts: ModeFacts): ModeChoice {
  const skipped: SkippedMode[] = [];
  for (const mode of requested === 'Auto' ? modes : [requested]) {
    const reason = lackOf(mode, facts);
    if (reason === undefined) return { mode, skipped };
    skipped.push({ mode, reason });
    // A mode that comes after would be taken permanently, and the answer is a matter of seconds.
    if (reason === unanswered) return { mode: undefined, skipped, asks: true };
  }
  return { mode: undefined, skipped };
}

const unanswered = 'it is not known yet whether a pod gets a GPU by its environment: the probe pod has not answered';

function lackOf(mode: Mode, facts: ModeFacts): string | undefined {
  const [conflict] = facts.conflicts;
  if (conflict !== undefined) return conflict;
  return lacks[mode](facts);
}

const lacks: Readonly<Record<Mode, (facts: ModeFacts) => string | undefined>> = {
  DRA(facts) {
    if (!facts.resourceApi) return 'the API server does not serve resource.k8s.io/v1: it needs Kubernetes 1.34 or newer';
    const unpublished = facts.slots.filter((slot) => !slot.published).map(({ name }) => name);
    if (unpublished.length > 0) return `no ResourceSlice has the GPU of ${unpublished.join(', ')}: install the DRA driver on the node`;
    return facts.deviceClass ? undefined : 'the DeviceClass of the driver is not there: install the chart of the driver whole';
  },
  Reservation(facts) {
    const short = shortOfPlugin(facts);
    if (short !== undefined) return short;
    if (!facts.runtimeClass) return 'the RuntimeClass nvidia is not there: tenants of a reserved GPU get at it by their environment';
    if (facts.injection === undefined) return unanswered;
    if (facts.injection === 'Silent')
      return 'the pod that asked for a GPU by its environment did not get on: see to the RuntimeClass nvidia, its image and the node';
    return facts.injection === 'Works'
      ? undefined
      : 'the node hands out no GPU by environment (the container toolkit refuses it to unprivileged pods)';
  },
  WholeGPU(facts) {
    const shared = facts.slots.filter(({ pods }) => pods > 1).map(({ name }) => name);
    if (shared.length > 0)
      return (
        `${shared.join(', ')} has several pods, and they cannot share a GPU of the device plugin: ` +
        'give each engine 1 replica and a slot of its own, or install a DRA driver'
      );
    return shortOfPlugin(facts);
  },
};

function shortOfPlugin({ slots, pluginGpus, sharing = [], slicesOfPlugin }: ModeFacts): string | undefined {
  if (slicesOfPlugin !== undefined) return slicesOfPlugin;
  const shared = slots.find(({ node }) => sharing.includes(node));
  if (shared !== undefined)
    return `the device plugin of node ${shared.node} gives one GPU to several pods: turn off time-slicing and MPS there`;
  const needed = new Map<string, number>();
  for (const { node } of slots) needed.set(node, (needed.get(node) ?? 0) + 1);
  for (const [node, count] of needed) {
    const offered = pluginGpus.get(node) ?? 0;
    if (offered < count) return `node ${node} offers ${offered} GPUs by the device plugin and ${count} are needed`;
  }
  return undefined;
}

/** A slot as a pod gets at it. */
export interface PodSlot {
  readonly name: string;
  readonly node: string;
  /** Absent where the device plugin picks the GPU and it is not learned yet. */
  readonly uuid: string | undefined;
  /** The ResourceClaim that stands for it; default: that of the slot. */
  readonly claim?: string;
}

export interface EnvVar {
  readonly name: string;
  readonly value: string;
}

/** Fields that a pod's template gets so that its engine runs on its slots. */
export interface PodPlacement {
  readonly resourceClaims: readonly { readonly name: string; readonly resourceClaimName: string }[];
  /** `resources` of the engine's container. */
  readonly claims: readonly { readonly name: string; readonly request: string }[];
  readonly limits: Readonly<Record<string, string>>;
  readonly env: readonly EnvVar[];
  readonly runtimeClassName: string | undefined;
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** Left out: none. */
  readonly tolerations?: readonly Toleration[];
}

export interface Toleration {
  readonly key: string;
  readonly operator: 'Exists';
}

/** The order in which CUDA numbers devices; its default is by speed, which differs from what everybody else names. */
const busOrder: EnvVar = { name: 'CUDA_DEVICE_ORDER', value: 'PCI_BUS_ID' };

/** Base images say `all`: a pod without a GPU would see every one of the node. */
const noGpu: EnvVar = { name: 'NVIDIA_VISIBLE_DEVICES', value: 'void' };

/** RuntimeClass that injects GPUs by environment. */
export const gpuRuntimeClass = 'nvidia';

export const hostname = 'kubernetes.io/hostname';

/** Pods that ask for no extended resource do not get it by admission, and nodes with GPUs often have this taint. */
export const gpuTolerations: readonly Toleration[] = [{ key: 'nvidia.com/gpu', operator: 'Exists' }];

/** A pod that needs no GPU, on a node that may have some. */
export const withoutGpu: PodPlacement = {
  resourceClaims: [],
  claims: [],
  limits: {},
  env: [noGpu],
  runtimeClassName: undefined,
  nodeSelector: {},
};

/**
 * Returns the placement by which a pod gets at its slots in a mode. It never has an extended resource together with a claim, and
 * never a visible device together with what the plugin injects. Pure.
 * @throws {RangeError} the mode names GPUs by environment and one is not known yet
 */
export function podPlacementOf(mode: Mode, slots: readonly PodSlot[]): PodPlacement {
  if (slots.length === 0) return withoutGpu;
  const [first] = slots;
  const nodeSelector = first === undefined ? {} : { [hostname]: first.node };
  const base = { ...withoutGpu, env: [busOrder], nodeSelector };
  if (mode === 'DRA') {
    return {
      ...base,
      // The claim names its GPU: the scheduler finds the node by itself.
      nodeSelector: {},
      resourceClaims: slots.map(({ name, claim = slotClaimName(name) }, index) => ({ name: claimName(index), resourceClaimName: claim })),
      claims: slots.map((_, index) => ({ name: claimName(index), request: slotRequest })),
    };
  }
  if (mode === 'WholeGPU') return { ...base, limits: { 'nvidia.com/gpu': String(slots.length) } };
  const uuids = slots.map(({ name, uuid }) => {
    if (uuid === undefined) throw new RangeError(`slot ${name}: its GPU is not known yet`);
    return uuid;
  });
  return {
    ...base,
    runtimeClassName: gpuRuntimeClass,
    env: [busOrder, { name: 'NVIDIA_VISIBLE_DEVICES', value: uuids.join(',') }],
    tolerations: gpuTolerations,
  };
}

function claimName(index: number): string {
  return index === 0 ? 'gpu' : `gpu${index}`;
}
