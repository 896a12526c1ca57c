/** What is read of a ResourceSlice of `resource.k8s.io/v1`. */
export interface ResourceSlice {
  readonly metadata?: { readonly name?: string };
  readonly spec: {
    readonly driver: string;
    readonly nodeName?: string;
    readonly pool: { readonly name: string; readonly generation: number; readonly resourceSliceCount: number };
    readonly devices?: readonly Device[];
  };
}

export interface Device {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, Attribute>>;
  readonly capacity?: Readonly<Record<string, { readonly value: string; readonly requestPolicy?: unknown }>>;
  readonly taints?: readonly DeviceTaint[];
  readonly allowMultipleAllocations?: boolean;
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
}

/** A GPU as its driver publishes it. */
export interface Gpu {
  readonly node: string;
  readonly driver: string;
  readonly pool: string;
  /** Name of the device in its pool; it may change when the driver starts anew. */
  readonly device: string;
  readonly uuid: string;
  readonly pciBusID: string | undefined;
  readonly productName: string | undefined;
  readonly memoryBytes: number;
  /** Taints that keep new pods away or drive running ones out. */
  readonly taints: readonly DeviceTaint[];
  /** Whether several claims may share it by bytes (consumable capacity). */
  readonly sharedByBytes: boolean;
}

/** What was published and cannot be used, with the reason. */
export interface InventoryProblem {
  readonly node: string;
  readonly device?: string;
  readonly message: string;
}
