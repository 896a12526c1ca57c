import type { Mode } from './ladder.ts';
import { slotClaimName, slotRequest } from './slotClaim.ts';

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

/** What a pod's template gets so that its engine runs on its slots. */
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
/** What injects GPUs by environment. */
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
 * How a pod gets at its slots in a mode. Never an extended resource together with a claim, and never a visible device
 * together with what the plugin injects. Pure.
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
      // The claim says where its GPU is: the scheduler finds the node by itself.
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
