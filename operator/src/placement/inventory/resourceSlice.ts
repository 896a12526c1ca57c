/** What is read of a ResourceSlice of `resource.k8s.io/v1`. */
export interface ResourceSlice {
  readonly metadata?: { readonly name?: string };
  readonly spec: {
    readonly driver: string;
    readonly nodeName?: string;
    readonly pool: { readonly name: string; readonly generation: number; readonly resourceSliceCount: number };
    readonly devices?: readonly Device[];
    /** What devices of the pool have together (partitionable devices, KEP-4815). */
    readonly sharedCounters?: readonly CounterSet[];
  };
}

export interface CounterSet {
  readonly name: string;
  readonly counters: Readonly<Record<string, { readonly value: string }>>;
}

/** What a device takes of a set of counters when it is allocated. */
export interface CounterConsumption {
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

export interface Attribute {
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
  readonly pool: string;
  /** Name of the device in its pool; it may change when the driver starts again. */
  readonly device: string;
  readonly uuid: string;
  /** Where it is. Of a MIG slice: the bus of its board, `@`, and the first slice of its memory. */
  readonly pciBusID: string | undefined;
  readonly productName: string | undefined;
  readonly memoryBytes: number;
  /** Taints that keep new pods away or drive running ones out. */
  readonly taints: readonly DeviceTaint[];
  /** Whether several claims may share it by bytes (consumable capacity). */
  readonly sharedByBytes: boolean;
  /** Set for a MIG slice. */
  readonly mig?: MigSlice;
}

/** What makes a device a part of a board: memory and processors of its own, and no way to other GPUs. */
export interface MigSlice {
  /** As the driver names it, such as `2g.10gb` or `1g.5gb+me`. */
  readonly profile: string;
  readonly parentUUID: string;
}

/** What was published and cannot be used, with the reason. */
export interface InventoryProblem {
  readonly node: string;
  readonly device?: string;
  readonly message: string;
}
