// hack, cluster/base: types of a cluster and the options of its start. Of other folders imports hack/cache only.

/** Size of a cluster: API server with its controllers, or also one real node that runs pods. */
export type Tier = 'control-plane' | 'node';

/** Provider of the cluster: local daemons, kind in Docker, or an existing context. */
export type Provider = 'local' | 'kind' | 'context';

/** A cluster that is up. */
export interface Cluster {
  readonly provider: Provider;
  readonly tier: Tier;
  /** Absolute path of a kubeconfig with one context, mode 0600. */
  readonly kubeconfig: string;
  readonly context: string;
  readonly nodeName: string;
  /** True when this call started at least one daemon; false when all ran already. */
  readonly startedByThisCall: boolean;
  /**
   * Absolute path of a binary: kubectl, helm, ctr, etcd …
   * Throws AF_BINARY_UNKNOWN when this provider or tier has none of that name.
   */
  bin(name: string): string;
  /**
   * Loads the images of a docker-archive tar into the node under the names in the archive. An existing name is left as
   * it is: names must change with their content. Throws AF_IMPORT_UNSUPPORTED where there is no node that may be loaded
   * with images.
   */
  importImage(tarPath: string): Promise<void>;
}

/** Options of `up`. */
export interface UpOptions {
  /** Default `node`. A cluster that already has a node is never cut down. */
  readonly tier?: Tier | undefined;
  /** A kubeconfig context to use instead of starting anything. */
  readonly context?: string | undefined;
  /** Also run kwok, which simulates nodes with the annotation `kwok.x-k8s.io/node=fake`. */
  readonly kwok?: boolean | undefined;
  /** Also make pods with `runtimeClassName: gvisor` run. Only with a local node. */
  readonly gvisor?: boolean | undefined;
  /** Also make volumes and VolumeSnapshots, by the StorageClass `agentfleet-dir`. Only with a local node. */
  readonly csi?: boolean | undefined;
  /** Also give the node four devices that stand for GPUs, of the DeviceClass `gpu.example.com`. Only with a local node. */
  readonly dra?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Receives one line for each step; default: standard error with the seconds since the start. */
  readonly log?: ((line: string) => void) | undefined;
}

/** A log function that prefixes the seconds since it was made. */
export function elapsedLog(write: (line: string) => void = (line) => process.stderr.write(`${line}\n`)): (line: string) => void {
  const begin = performance.now();
  return (line) => write(`${((performance.now() - begin) / 1000).toFixed(2).padStart(7)}s ${line}`);
}
