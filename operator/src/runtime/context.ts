import type { Clock, EventRecorder, Informer, Lease, Log, Random, Transport } from '@agentfleet/kube';
import type { AgentTask, AgentTaskOrder, EnergyModel, ExpertPool, PoolGrant, RolloutPolicy } from '@agentfleet/protocol/api';
import type { EgressBrief } from '@agentfleet/protocol/pool';
import type { Registry } from 'prom-client';
import type { NodeAbilities } from './nodeAbilities.ts';
import type { ApiEndpoints } from './apiEndpoints.ts';
import type { TaskCensus } from './taskCensus.ts';
import type {
  ConfigMap,
  Deployment,
  Namespace,
  NetworkPolicy,
  Node,
  PersistentVolumeClaim,
  Pod,
  RuntimeClass,
  VolumeSnapshot,
} from './resources.ts';
import type { OptionalCache } from './optionalCache.ts';

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

/** What the administrator sets, by environment (see config.ts). */
export interface OperatorConfig {
  /** Namespace of the operator. */
  readonly namespace: string;
  readonly images: Images;
  /** Namespaces whose pools may reach into every other one, apart from those of the cluster and of the operator. */
  readonly platformNamespaces: readonly string[];
  /** What commands with `network: Registries` may reach, in all pools; no host stands in the project itself. */
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
  /** Subjects that may read metrics of all parts, as `system:serviceaccount:<namespace>:<name>`. */
  readonly metricsReaders?: readonly string[];
  /** The DRA driver of the cluster's GPUs; default: NVIDIA's. */
  readonly gpus?: GpuDriver;
}

/** How GPUs are asked for. */
export interface GpuDriver {
  readonly driver: string;
  /** DeviceClass of whole GPUs. */
  readonly deviceClass: string;
  /** DeviceClass of MIG slices; default: NVIDIA's. */
  readonly migDeviceClass?: string;
}

/** Caches that all controllers share; each follows the whole cluster. */
export interface Caches {
  /** Those that have not ended. Indexes: `pool` (`namespace/name` that the task names, or `default`), see pools/resolve.ts; those of taskIndexes.ts. */
  readonly tasks: Informer<AgentTask>;
  /** How many tasks there are, those too that have ended. */
  readonly census: TaskCensus;
  /** Index: `task` (`namespace/name`). */
  readonly orders: Informer<AgentTaskOrder>;
  readonly pools: Informer<ExpertPool>;
  readonly energyModels: Informer<EnergyModel>;
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
  /** What was decided about what nodes can; no cache, and shared like one. */
  readonly abilities: NodeAbilities;
  /** Our own ConfigMaps, deployments: those with label `agentfleet.dev/component`. */
  readonly configMaps: Informer<ConfigMap>;
  readonly deployments: Informer<Deployment>;
  /** Ours: volumes of tasks and claims of pools. Index `task` (`namespace/name`). */
  readonly persistentVolumeClaims: Informer<PersistentVolumeClaim>;
  /** Ours; empty where the cluster does not serve VolumeSnapshots. Index `task` (`namespace/name`). */
  readonly volumeSnapshots: OptionalCache<VolumeSnapshot>;
}

/** What every controller is made with. */
export interface OperatorContext {
  readonly config: OperatorConfig;
  /** Fenced: a write fails with AF_FENCED while the operator's lease is not fresh. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly registry: Registry;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly caches: Caches;
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
