import { createHash } from 'node:crypto';
import type { SlotBinding } from '../inventory/index.ts';

/** Labels and annotations of a slot's claim. */
export const slotLabel = 'agentfleet.dev/slot';
export const uuidAnnotation = 'agentfleet.dev/gpu-uuid';
/** The uid of the pod that reserves the GPU: another one, another template, so that its tenants are replaced. */
export const holderAnnotation = 'agentfleet.dev/gpu-holder';
export const busAnnotation = 'agentfleet.dev/gpu-pci-bus-id';

/** Several values in one annotation of a pod: slots, boards and holders of an engine that spans several GPUs, in one order. */
export const annotationOf = (values: readonly string[]): string => values.join(',');
export const valuesIn = (annotation: string | undefined): readonly string[] => (annotation === undefined ? [] : annotation.split(','));

/** Fields that are written and read of a ResourceClaim of `resource.k8s.io/v1`. */
export interface SlotClaim {
  readonly apiVersion: 'resource.k8s.io/v1';
  readonly kind: 'ResourceClaim';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: unknown;
}

export interface SlotClaimOptions {
  readonly namespace: string;
  readonly deviceClass: string;
  readonly driver: string;
  /** Of a MIG slice. */
  readonly profile?: string;
  /** Taints of its device that a human has acknowledged, by their keys. */
  readonly tolerated?: readonly string[];
  /** Way in which its tenants share it; default: as the driver does. */
  readonly sharing?: Sharing | undefined;
}

/** The name of the request inside a slot's claim. */
export const slotRequest = 'gpu';

/**
 * The claim that stands for a slot in one namespace: all tenants of the slot name it, so that they share one GPU, and a
 * pod that replaces another one gets the same. It pins the GPU by uuid; the annotations record what the name was bound to.
 * @throws {RangeError} the uuid has characters that cannot be part of an expression
 */
export function renderSlotClaim(binding: SlotBinding, options: SlotClaimOptions): SlotClaim {
  return claimOf(slotClaimName(binding.slot), binding, options, {});
}

/** Memory is claimed in whole steps of this, as drivers publish it. */
const shareStep = 2 ** 20;

/**
 * The claim of one tenant on a share of a slot's memory, where the driver lets several claims share a GPU by bytes
 * (consumable capacity, KEP-5075): then the scheduler keeps the books, and refuses what does not fit.
 */
export function renderShareClaim(binding: SlotBinding, options: SlotClaimOptions, tenant: string, bytes: number): SlotClaim {
  const memory = String(Math.ceil(bytes / shareStep) * shareStep);
  return claimOf(`${slotClaimName(binding.slot)}-${tenant}`, binding, options, { capacity: { requests: { memory } } });
}

/** The scheduler gives a tainted device to no other claim, and evicts the pod that has it. */
function tolerationsOf(keys: readonly string[]): object {
  return keys.length === 0 ? {} : { tolerations: keys.map((key) => ({ key, operator: 'Exists' })) };
}

function claimOf(name: string, binding: SlotBinding, options: SlotClaimOptions, more: object): SlotClaim {
  const { namespace, deviceClass, driver, profile, sharing, tolerated = [] } = options;
  // A board that is divided again may give a uuid to a slice of another size.
  const pins = [pin(driver, 'uuid', binding.uuid), ...(profile === undefined ? [] : [pin(driver, 'profile', profile)])];
  const expression = pins.join(' && ');
  const exactly = {
    deviceClassName: deviceClass,
    allocationMode: 'ExactCount',
    count: 1,
    selectors: [{ cel: { expression } }],
    ...tolerationsOf(tolerated),
    ...more,
  };
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata: {
      name,
      namespace,
      labels: { [slotLabel]: slotClaimName(binding.slot) },
      annotations: {
        [slotLabel]: binding.slot,
        [uuidAnnotation]: binding.uuid,
        ...(binding.pciBusID === undefined ? {} : { [busAnnotation]: binding.pciBusID }),
      },
    },
    spec: { devices: { requests: [{ name: slotRequest, exactly }], ...sharingConfig(sharing, profile !== undefined, slotRequest) } },
  };
}

/** An attribute that a device lacks is an error that ends the allocation, not a device that does not match. */
function pin(driver: string, attribute: string, value: string): string {
  const attributes = `device.attributes['${plain(driver)}']`;
  return `'${attribute}' in ${attributes} && ${attributes}.${attribute} == '${plain(value)}'`;
}

/** The binding that a claim records; undefined when it is no claim of a slot. */
export function bindingOf(claim: Pick<SlotClaim, 'metadata'>): SlotBinding | undefined {
  const { annotations = {} } = claim.metadata as { readonly annotations?: Readonly<Record<string, string>> };
  const slot = annotations[slotLabel];
  const uuid = annotations[uuidAnnotation];
  return slot === undefined || uuid === undefined ? undefined : { slot, uuid, pciBusID: annotations[busAnnotation] };
}

/** `<node>/gpu<n>`, or that of a MIG slice, as a name and label that an object may have. Nodes with long names are distinguished by a hash. */
export function slotClaimName(slot: string): string {
  const name = `slot-${slot.replace('/', '-')}`;
  return name.length <= 63
    ? name
    : `slot-${createHash('sha256').update(slot).digest('hex').slice(0, 20)}${slot.slice(slot.lastIndexOf('/')).replace('/', '-')}`;
}

function plain(text: string): string {
  if (!/^[\w./+-]{1,253}$/.test(text)) throw new RangeError(`${JSON.stringify(text)} cannot be part of a device selector`);
  return text;
}

/** Times that a process has a GPU before the next one, in NVIDIA's own words. */
export const timeSlices = ['Default', 'Short', 'Medium', 'Long'] as const;

export type TimeSlice = (typeof timeSlices)[number];

/** Way in which processes of one slot share it, where its driver learns it from its claim. */
export type Sharing =
  | {
      readonly strategy: 'MPS';
      /** Share of the processors that each process has at most, 1 to 100. */
      readonly percentage: number;
      /** Memory that each process has at most, MiB. */
      readonly limitMiB: number | undefined;
    }
  | { readonly strategy: 'TimeSlicing'; readonly interval: TimeSlice };

/** The driver that knows these words. */
export const sharingDriver = 'gpu.nvidia.com';

const configVersion = 'resource.nvidia.com/v1beta1';

/** Returns the text that a person reads and writes: `MPS 40 8192Mi`, `TimeSlicing Long`. */
export function sharingText(sharing: Sharing | undefined): string {
  if (sharing === undefined) return 'as the driver does by default';
  if (sharing.strategy === 'TimeSlicing') return `TimeSlicing ${sharing.interval}`;
  return `MPS ${sharing.percentage}${sharing.limitMiB === undefined ? '' : ` ${sharing.limitMiB}Mi`}`;
}

/**
 * The end of a claim's name, by how its slot is shared. The spec of a claim is never changed, so that its name reports
 * what is in force for as long as a pod names it.
 */
export function sharingSuffix(sharing: Sharing | undefined): string {
  if (sharing === undefined) return '';
  if (sharing.strategy === 'TimeSlicing') return `-timeslicing-${sharing.interval.toLowerCase()}`;
  return `-mps-${sharing.percentage}${sharing.limitMiB === undefined ? '' : `-${sharing.limitMiB}mi`}`;
}

/** Returns the sharing that the name of a claim encodes; undefined: none. */
export function sharingInName(claim: string): Sharing | undefined {
  const [, percentage, limit] = /-mps-(\d{1,3})(?:-(\d{1,9})mi)?$/.exec(claim) ?? [];
  if (percentage !== undefined)
    return { strategy: 'MPS', percentage: Number(percentage), limitMiB: limit === undefined ? undefined : Number(limit) };
  const word = /-timeslicing-([a-z]+)$/.exec(claim)?.[1];
  const interval = timeSlices.find((known) => known.toLowerCase() === word);
  return interval === undefined ? undefined : { strategy: 'TimeSlicing', interval };
}

/** `spec.devices.config` of a claim of the slot. */
function sharingConfig(sharing: Sharing | undefined, ofSlice: boolean, request: string): object {
  if (sharing === undefined) return {};
  const parameters = { apiVersion: configVersion, kind: ofSlice ? 'MigDeviceConfig' : 'GpuConfig', sharing: parametersOf(sharing) };
  return { config: [{ requests: [request], opaque: { driver: sharingDriver, parameters } }] };
}

function parametersOf(sharing: Sharing): object {
  if (sharing.strategy === 'TimeSlicing') return { strategy: 'TimeSlicing', timeSlicingConfig: { interval: sharing.interval } };
  const { percentage, limitMiB } = sharing;
  return {
    strategy: 'MPS',
    mpsConfig: {
      defaultActiveThreadPercentage: percentage,
      ...(limitMiB === undefined ? {} : { defaultPinnedDeviceMemoryLimit: `${limitMiB}Mi` }),
    },
  };
}
