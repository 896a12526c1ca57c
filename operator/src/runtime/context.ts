import {
  type Clock,
  type EventRecorder,
  Informer,
  type Lease,
  type Log,
  type Random,
  type Transport,
  isApiError,
  sleep,
  type InformerOptions,
  type KubeObject,
  type ManagedCache,
  type Source,
  asError,
} from '@agentfleet/kube';
import type { AgentTask, AgentTaskOrder, EnergyModel, ExpertPool, ExpertScale, PoolGrant, RolloutPolicy } from '@agentfleet/protocol/api';
import type { EgressBrief } from '@agentfleet/protocol/pool';
import type { Tracing } from '@agentfleet/protocol/tracing';
import type { Registry } from 'prom-client';
import { keepNewest } from './ttlCache.ts';
import type { OperandSettings } from './settings.ts';
import type { TaskCensus } from './taskCensus.ts';
import type {
  ConfigMap,
  Deployment,
  Namespace,
  NetworkPolicy,
  Node,
  PersistentVolumeClaim,
  Pod,
  ResourceFlavor,
  RuntimeClass,
  VolumeSnapshot,
  Workload,
} from './resources.ts';

/** Images by part. */
export interface Images {
  readonly agent: string;
  readonly inference: string;
  /** For experts with the engine Llama; without it they do not run, and their pools say so. */
  readonly inferenceLlama?: string;
  readonly sandbox: string;
  /** The user's container where neither task nor pool names one. */
  readonly tools: string;
}

/** Settings of the administrator, by environment (see config.ts). */
export interface OperatorConfig {
  /** Namespace of the operator. */
  readonly namespace: string;
  readonly images: Images;
  /** Namespaces whose pools may reach into every other one, apart from those of the cluster and of the operator. */
  readonly platformNamespaces: readonly string[];
  /** The namespaces that are followed, that of the operator among them; default: the whole cluster. */
  readonly watchNamespaces?: readonly string[] | undefined;
  /** Destinations that commands with `network: Registries` may reach, in all pools; the project itself names no host. */
  readonly egress: EgressBrief;
  /** Addresses of the cluster's DNS servers, which sandboxes must not reach; their keepers try. */
  readonly resolvers?: readonly string[];
  /** Address and port of a Service of another namespace, which sandboxes must not reach; their keepers try. */
  readonly sentinel?: string;
  /** Name of the ClusterRole of workers in the namespaces of tasks; part of the chart. */
  readonly workerClusterRole: string;
  /** Namespace of the Prometheus that experts and verifiers let in; without it none. */
  readonly prometheusNamespace?: string;
  /** Labels of objects that Git owns, besides those that belong to one tool alone; default: the one of Argo CD. */
  readonly trackingLabels?: readonly string[];
  /** Rules of NetworkPolicies that all workers get beside those for what pools and tasks need. */
  readonly workerEgress?: readonly object[];
  /** Settings for all that the operator makes; default: none. */
  readonly operands?: OperandSettings;
  /** Subjects that may read metrics of all parts, as `system:serviceaccount:<namespace>:<name>`. */
  readonly metricsReaders?: readonly string[];
  /** Whether there is a results server, which workers let in; default: none. */
  readonly results?: boolean;
  /** Whether tasks with a queue name of Kueue wait for its admission; default: they are refused. */
  readonly kueue?: boolean;
  /** The DRA driver of the cluster's GPUs; default: NVIDIA's. */
  readonly gpus?: GpuDriver;
}

/** Names by which GPUs are requested. */
export interface GpuDriver {
  readonly driver: string;
  /** DeviceClass of whole GPUs. */
  readonly deviceClass: string;
  /** DeviceClass of MIG slices; default: NVIDIA's. */
  readonly migDeviceClass?: string;
}

/** Caches that all controllers share; each follows the whole cluster, or the namespaces of `watchNamespaces`. */
export interface Caches {
  /** Those that have not ended. Indexes: `pool` (`namespace/name` that the task names, or `default`), see pools/resolve.ts; others with the task controller. */
  readonly tasks: Informer<AgentTask>;
  /** Counts of tasks, including those that have ended. */
  readonly census: TaskCensus;
  /** Index: `task` (`namespace/name`). */
  readonly orders: Informer<AgentTaskOrder>;
  readonly pools: Informer<ExpertPool>;
  readonly energyModels: Informer<EnergyModel>;
  readonly expertScales: Informer<ExpertScale>;
  /** Consents of namespaces to pools of others. */
  readonly poolGrants: Informer<PoolGrant>;
  readonly rolloutPolicies: Informer<RolloutPolicy>;
  /** Pods with label `agentfleet.dev/component`; index `task` (`namespace/name`), indexes `pool` and `model` (`namespace/name`). */
  readonly pods: Informer<Pod>;
  /** Leases of workers (label `agentfleet.dev/component: worker`). */
  readonly leases: Informer<Lease>;
  readonly namespaces: Informer<Namespace>;
  readonly nodes: Informer<Node>;
  readonly runtimeClasses: Informer<RuntimeClass>;
  /** Everybody's: what theirs allow adds to what ours allow. */
  readonly networkPolicies: Informer<NetworkPolicy>;
  /** Decisions about the abilities of nodes; no cache, and shared like one. */
  readonly abilities: NodeAbilities;
  /** Our own ConfigMaps, deployments: those with label `agentfleet.dev/component`. */
  readonly configMaps: Informer<ConfigMap>;
  readonly deployments: Informer<Deployment>;
  /** Ours: volumes of tasks and claims of pools. Index `task` (`namespace/name`). */
  readonly persistentVolumeClaims: Informer<PersistentVolumeClaim>;
  /** Ours; empty where the cluster does not serve VolumeSnapshots. Index `task` (`namespace/name`). */
  readonly volumeSnapshots: OptionalCache<VolumeSnapshot>;
  /** Objects by which Kueue admits tasks: the operator's Workloads, index `task`, and Kueue's ResourceFlavors; absent where that is off. */
  readonly workloads?: OptionalCache<Workload>;
  readonly resourceFlavors?: OptionalCache<ResourceFlavor>;
}

/** Dependencies that every controller gets. */
export interface OperatorContext {
  readonly config: OperatorConfig;
  /** Fenced: a write fails with AF_FENCED while the operator's lease is not fresh. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly registry: Registry;
  /** Recorder of spans of tasks; absent: spans go nowhere. */
  readonly tracing?: Tracing;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly caches: Caches;
  /** Reasons for which the API server does not let namespaces be prepared for sandboxes, by their names; absent: unknown. */
  readonly unprepared?: Map<string, string>;
  /** Addresses of the API server, as the network sees them; absent: unknown. */
  readonly apiServer?: Pick<ApiEndpoints, 'list' | 'onChange'>;
  /** Issuer of the cluster's tokens and its signing keys as JSON (JWKS); read at the start and kept fresh. */
  readonly tokens: {
    issuer(): string;
    jwks(): string;
    /** Calls the listener when either changed; the function returned ends that. */
    onChange(listener: () => void): () => void;
  };
}

/** Most decisions that are remembered; the oldest give way. */
const most = 1024;

/**
 * Last decisions about abilities of most nodes, so that one node which comes or goes does not turn everything over: an ability is
 * used from two thirds of the nodes on, and no more when less than a third has it. One for all controllers of a process, because
 * sandboxes that wait have to be what tasks would make. It is kept beside the caches, and follows nothing.
 */
export class NodeAbilities {
  readonly name = 'abilities of nodes';
  readonly #last = new Map<string, boolean>();

  /** Decides whether an ability is used that `able` of the `reported` nodes have. The same numbers give the same answer again. */
  used(key: string, able: number, reported: number): boolean {
    const before = this.#last.get(key) ?? false;
    if (reported === 0) return before;
    const now = able > 0 && able * 3 >= reported * (before ? 1 : 2);
    keepNewest(this.#last, key, now, most);
    return now;
  }

  hasSynced(): boolean {
    return true;
  }

  waitForSync(): Promise<void> {
    return Promise.resolve();
  }

  run(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

/** Time between two looks at whether the server refuses, ms. */
const lookMs = 100;

/** A cache of a resource that not every cluster serves: without it the cache is empty and counts as synced. */
export class OptionalCache<T extends KubeObject = KubeObject> implements ManagedCache {
  readonly informer: Informer<T>;
  readonly #clock: Clock;

  constructor(options: InformerOptions<T>) {
    this.informer = new Informer(options);
    this.#clock = options.clock;
  }

  get name(): string {
    return this.informer.name;
  }

  /** Whether the cluster serves the resource, as far as is known. */
  get isServed(): boolean {
    return this.informer.hasSynced() && !isMissing(this.informer.refusal);
  }

  /** Not being served is no fault. */
  get refusal(): Error | undefined {
    const { refusal } = this.informer;
    return isMissing(refusal) ? undefined : refusal;
  }

  hasSynced(): boolean {
    return this.informer.hasSynced() || isMissing(this.informer.refusal);
  }

  /** Resolves with the first list, or when the server has no such resource; rejects as an Informer does. */
  async waitForSync(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const over = new AbortController();
    const either = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
    const listed = this.informer.waitForSync(timeoutMs, either);
    listed.catch(() => {}); // one of the two is given up
    try {
      await Promise.race([listed, this.#missing(either)]);
    } finally {
      over.abort();
    }
  }

  run(signal: AbortSignal): Promise<void> {
    return this.informer.run(signal);
  }

  /** The source of keys that does not wait for what is not served. */
  source(source: Source): Source {
    return { ...source, hasSynced: () => this.hasSynced(), waitForSync: (timeoutMs, signal) => this.waitForSync(timeoutMs, signal) };
  }

  async #missing(signal: AbortSignal): Promise<void> {
    while (!isMissing(this.informer.refusal)) if (!(await sleep(this.#clock, lookMs, signal))) return new Promise(() => {});
    return undefined;
  }
}

function isMissing(error: Error | undefined): boolean {
  return isApiError(error) && error.code === 404;
}

/** An address of the API server. */
export interface ApiEndpoint {
  readonly address: string;
  readonly port: number;
}

interface Slices {
  readonly items?: readonly {
    readonly endpoints?: readonly { readonly addresses?: readonly string[] }[];
    readonly ports?: readonly { readonly port?: number }[];
  }[];
}

/** A replaced control plane is followed this fast, ms; its old and new addresses usually overlap for longer. */
const refreshMs = 30_000;

const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3Dkubernetes';

interface ApiEndpointsOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Log;
  /** The address of the Service, where it is known. */
  readonly service?: ApiEndpoint;
}

/** Addresses at which pods reach the API server behind its Service: networks see these, and some see the Service's own. */
export class ApiEndpoints {
  readonly #options: ApiEndpointsOptions;
  readonly #listeners = new Set<() => void>();
  #known: readonly ApiEndpoint[] = [];

  constructor(options: ApiEndpointsOptions) {
    this.#options = options;
  }

  /** Sorted; empty while nothing is known, as where the operator may not list them. */
  list(): readonly ApiEndpoint[] {
    const { service } = this.#options;
    return this.#known.length === 0 || service === undefined ? this.#known : [service, ...this.#known];
  }

  /** Calls `listener` after every change. The function returned ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads them until the signal is aborted. Never rejects; what was known stays when the API server does not answer. */
  async run(signal: AbortSignal): Promise<void> {
    const { transport, clock, log } = this.#options;
    do {
      try {
        this.#take(await transport.request<Slices>({ method: 'GET', path, signal }));
      } catch (error) {
        if (!signal.aborted) log.warn('the addresses of the API server were not read', { error: asError(error).message });
      }
    } while (await sleep(clock, refreshMs, signal));
  }

  #take({ items = [] }: Slices): void {
    const found = endpointsOf(items);
    if (found.length === 0 || JSON.stringify(found) === JSON.stringify(this.#known)) return;
    this.#known = found;
    for (const listener of this.#listeners) listener();
  }
}

function endpointsOf(items: NonNullable<Slices['items']>): readonly ApiEndpoint[] {
  const all = items.flatMap(({ endpoints = [], ports = [] }) =>
    endpoints.flatMap(({ addresses = [] }) =>
      addresses.flatMap((address) => ports.flatMap(({ port }) => (port === undefined ? [] : [{ address, port }]))),
    ),
  );
  const key = ({ address, port }: ApiEndpoint): string => `${address} ${port}`;
  return [...new Map(all.map((one) => [key(one), one])).values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
