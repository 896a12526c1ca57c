// operator, placement/inventory: fields of ResourceSlices that are read, and the type of a GPU. May import protocol and kube.

/** Fields that are read of a ResourceSlice of `resource.k8s.io/v1`. */
export interface ResourceSlice {
  readonly metadata?: { readonly name?: string };
  readonly spec: {
    readonly driver: string;
    readonly nodeName?: string;
    readonly pool: { readonly name: string; readonly generation: number; readonly resourceSliceCount: number };
    readonly devices?: readonly Device[];
    /** Counters that devices of the pool have together (partitionable devices, KEP-4815). */
    readonly sharedCounters?: readonly CounterSet[];
  };
}

export interface CounterSet {
  readonly name: string;
  readonly counters: Readonly<Record<string, { readonly value: string }>>;
}

/** Amounts that a device takes of a set of counters when it is allocated. */
interface CounterConsumption {
  readonly counterSet: string;
  readonly counters: Readonly<Record<string, { readonly value: string }>>;
}

export interface Device {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, Attribute>>;
  readonly capacity?: Readonly<Record<string, { readonly value: string; readonly requestPolicy?: unknown }>>;
  readonly taints?: readonly DeviceTaint[];
  readonly allowMultipleAllocations?: boolean;
  readonly consumesCounters?: readonly CounterConsumption[];
}

interface Attribute {
  readonly string?: string;
  readonly int?: number;
  readonly bool?: boolean;
  readonly version?: string;
}

export interface DeviceTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'None' | 'NoSchedule' | 'NoExecute';
  /** RFC 3339; the API server sets it where the driver does not. */
  readonly timeAdded?: string;
}

/** A GPU, or a MIG slice of one, as its driver publishes it. */
export interface Gpu {
  readonly node: string;
  readonly driver: string;
  /** Name of the device in its pool; it may change when the driver starts again. */
  readonly device: string;
  readonly uuid: string;
  /** PCI bus on which it is. Of a MIG slice: the bus of its board, `@`, and the first slice of its memory. */
  readonly pciBusID: string | undefined;
  readonly memoryBytes: number;
  /** Taints that keep new pods away or drive running ones out. */
  readonly taints: readonly DeviceTaint[];
  /** Whether several claims may share it by bytes (consumable capacity). */
  readonly sharedByBytes: boolean;
  /** Set for a MIG slice. */
  readonly mig?: MigSlice;
}

/** A device that is a part of a board: it has memory and processors of its own, and no way to other GPUs. */
export interface MigSlice {
  /** As the driver names it, such as `2g.10gb` or `1g.5gb+me`. */
  readonly profile: string;
  readonly parentUUID: string;
}

/** A published resource that cannot be used, with the reason. */
export interface InventoryProblem {
  readonly node: string;
  readonly device?: string;
  readonly message: string;
}

/** Thousandths of a byte that a unit stands for. */
const factors: Readonly<Record<string, bigint>> = {
  m: 1n,
  '': 10n ** 3n,
  k: 10n ** 6n,
  M: 10n ** 9n,
  G: 10n ** 12n,
  T: 10n ** 15n,
  P: 10n ** 18n,
  E: 10n ** 21n,
  Ki: 1000n * 2n ** 10n,
  Mi: 1000n * 2n ** 20n,
  Gi: 1000n * 2n ** 30n,
  Ti: 1000n * 2n ** 40n,
  Pi: 1000n * 2n ** 50n,
  Ei: 1000n * 2n ** 60n,
};

/**
 * Bytes of a Kubernetes quantity, rounded up: `40Gi`, `42949672960`, `39.5Gi`.
 * @returns undefined when it is none, or more than a number can hold exactly
 */
export function bytesOf(quantity: string | undefined): number | undefined {
  const match = /^(\d{1,20})(?:\.(\d{1,20}))?(|[mkMGTPE]|[KMGTPE]i)$/.exec(quantity ?? '');
  if (match === null) return undefined;
  const [, whole = '0', fraction = '', unit = ''] = match;
  const factor = factors[unit] ?? 1n;
  const scale = 10n ** BigInt(fraction.length + 3);
  const bytes = (BigInt(whole + fraction) * factor + scale - 1n) / scale;
  return bytes > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : Number(bytes);
}
