import { type Condition, type KubeObject, type LabelSelector, defineResource } from '@agentfleet/kube';
import type { ResourceSlice } from '../placement/index.ts';
import {
  apiVersion,
  agentTask,
  agentTaskOrder,
  energyModel,
  expertPool,
  expertScale,
  poolGrant,
  rolloutPolicy,
  type AgentTask,
  type AgentTaskOrder,
  type EnergyModel,
  type ExpertPool,
  type ExpertScale,
  type Kind,
  type PoolGrant,
  type Reason,
  type RolloutPolicy,
  type SandboxTemplate,
} from '@agentfleet/protocol/api';

/** One sentence of state for programs and people: a condition without its type. */
export interface ConditionValue {
  readonly status: Condition['status'];
  readonly reason: Reason;
  readonly message: string;
  /** Nothing but a change from outside can help. */
  readonly stalled?: boolean;
}

/** The parts of `v1.Pod` that decisions look at; times are RFC 3339 strings. */
export interface Pod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly containers?: readonly { readonly name: string; readonly image?: string }[];
  };
  readonly status?: {
    readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly startTime?: string;
    readonly conditions?: readonly PodCondition[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  /** RFC 3339. */
  readonly lastTransitionTime?: string;
}

/** End of a container. */
export interface Terminated {
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
}

export interface ContainerStatus {
  readonly name: string;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: { readonly startedAt?: string };
    readonly terminated?: Terminated;
  };
  /** Its end before it was started again. */
  readonly lastState?: { readonly terminated?: Terminated };
}

/** `networking.k8s.io/v1.NetworkPolicy`: of the rules only how many there are. */
export interface NetworkPolicy extends KubeObject {
  readonly spec?: {
    readonly podSelector?: LabelSelector;
    readonly policyTypes?: readonly string[];
    readonly ingress?: readonly object[];
    readonly egress?: readonly object[];
  };
}

/** `v1.Namespace`. */
export interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: 'Active' | 'Terminating' };
}

/** The parts of `v1.Node` that decisions look at. */
export interface Node extends KubeObject {
  readonly spec?: {
    readonly unschedulable?: boolean;
    /** Those by which Kubernetes itself keeps pods away; no other one is kept. */
    readonly taints?: readonly { readonly key: string; readonly effect: string }[];
  };
  readonly status?: {
    /** `runtimeHandlers`: what each handler of the container runtime can; the default one has no name. Absent: the kubelet does not report. */
    readonly nodeInfo?: { readonly kubeletVersion?: string; readonly containerRuntimeVersion?: string; readonly bootID?: string };
    /** Of GPUs and MIG slices that a device plugin hands out; nothing else is kept. */
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly runtimeHandlers?: readonly { readonly name?: string; readonly features?: { readonly userNamespaces?: boolean } }[];
  };
}

/** `resource.k8s.io/v1.ResourceSlice`. */
export type PublishedSlice = KubeObject & ResourceSlice;

/** `resource.k8s.io/v1.DeviceClass`. */
export interface DeviceClass extends KubeObject {
  readonly spec?: { readonly extendedResourceName?: string };
}

/** `node.k8s.io/v1.RuntimeClass`. */
export interface RuntimeClass extends KubeObject {
  readonly handler: string;
  readonly scheduling?: { readonly nodeSelector?: Readonly<Record<string, string>> };
}

/** `v1.ConfigMap`. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** The parts of `apps/v1.Deployment` that decisions look at. */
export interface Deployment extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly progressDeadlineSeconds?: number;
    readonly template?: { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
    readonly conditions?: readonly PodCondition[];
  };
}

/** The parts of `batch/v1.Job` that decisions look at. */
export interface Job extends KubeObject {
  readonly status?: { readonly active?: number; readonly conditions?: readonly PodCondition[] };
}

/** `v1.PodTemplate`; of its pods the parts that are looked at, the rest as it is. */
export interface PodTemplate extends KubeObject {
  readonly template?: {
    readonly metadata?: { readonly labels?: Readonly<Record<string, string>>; readonly annotations?: Readonly<Record<string, string>> };
    readonly spec?: TemplatePodSpec;
  };
}

/** `v1.PodSpec` as its author wrote it. */
interface TemplatePodSpec {
  readonly activeDeadlineSeconds?: number;
  readonly containers?: readonly TemplateContainer[];
  readonly volumes?: readonly { readonly name: string }[];
  readonly [field: string]: unknown;
}

/** `v1.Container` as its author wrote it. */
export interface TemplateContainer {
  readonly name: string;
  readonly env?: readonly { readonly name: string }[];
  readonly volumeMounts?: readonly { readonly name: string }[];
  readonly [field: string]: unknown;
}

/** `apps/v1.ControllerRevision`: what was served under a name, for ever the same. */
export interface ControllerRevision extends KubeObject {
  readonly revision?: number;
  readonly data?: unknown;
}

/** The parts of `v1.PersistentVolumeClaim` that decisions look at. */
export interface PersistentVolumeClaim extends KubeObject {
  readonly spec?: { readonly storageClassName?: string; readonly resources?: object };
  readonly status?: { readonly phase?: 'Pending' | 'Bound' | 'Lost' };
}

/** The parts of `snapshot.storage.k8s.io/v1.VolumeSnapshot` that decisions look at. */
export interface VolumeSnapshot extends KubeObject {
  readonly spec?: { readonly source?: { readonly persistentVolumeClaimName?: string } };
  readonly status?: { readonly readyToUse?: boolean; readonly error?: { readonly message?: string } };
}

/** The parts of Kueue's `Workload` that decisions look at. */
export interface Workload extends KubeObject {
  readonly spec?: {
    readonly queueName?: string;
    readonly priority?: number;
    readonly active?: boolean;
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly admission?: { readonly podSetAssignments?: readonly { readonly flavors?: Readonly<Record<string, string>> }[] };
    readonly admissionChecks?: readonly { readonly name: string; readonly state: string; readonly message?: string }[];
  };
}

/** The parts of Kueue's `ResourceFlavor` that say where its pods run. */
export interface ResourceFlavor extends KubeObject {
  readonly spec?: { readonly nodeLabels?: Readonly<Record<string, string>>; readonly tolerations?: SandboxTemplate['tolerations'] };
}

function ours<T extends KubeObject>({ kind, plural }: Kind) {
  return defineResource<T>(apiVersion, kind, plural);
}

/** Its definitions come with the snapshot controller, which not every cluster has. */
const snapshots = 'snapshot.storage.k8s.io/v1';

/** Served by Kueue 0.15 and later; its older version names podSets and priorities otherwise. */
const kueue = 'kueue.x-k8s.io/v1beta2';

/** Not served by clusters without dynamic resource allocation. */
const dynamic = 'resource.k8s.io/v1';

/** Distinguishes objects of one namespace, as `group/plural/name`. */
export function identity({ group, plural }: { readonly plural: string; readonly group: string }, name: string): string {
  return `${group}/${plural}/${name}`;
}

/** Reports whether nothing may be made in the namespace any more. */
export function isTerminating(namespace: Namespace | undefined): boolean {
  return namespace?.metadata.deletionTimestamp !== undefined || namespace?.status?.phase === 'Terminating';
}

/** Reports whether all containers of a pod have ended permanently, as after an eviction: it has neither a GPU nor memory any more. */
export function isOver({ status }: Pod): boolean {
  return status?.phase === 'Failed' || status?.phase === 'Succeeded';
}

/** Every resource that the operator reads or writes. */
export const resources = {
  agentTasks: ours<AgentTask>(agentTask),
  agentTaskOrders: ours<AgentTaskOrder>(agentTaskOrder),
  expertPools: ours<ExpertPool>(expertPool),
  expertScales: ours<ExpertScale>(expertScale),
  energyModels: ours<EnergyModel>(energyModel),
  poolGrants: ours<PoolGrant>(poolGrant),
  rolloutPolicies: ours<RolloutPolicy>(rolloutPolicy),
  pods: defineResource<Pod>('v1', 'Pod', 'pods'),
  namespaces: defineResource<Namespace>('v1', 'Namespace', 'namespaces', false),
  nodes: defineResource<Node>('v1', 'Node', 'nodes', false),
  runtimeClasses: defineResource<RuntimeClass>('node.k8s.io/v1', 'RuntimeClass', 'runtimeclasses', false),
  configMaps: defineResource<ConfigMap>('v1', 'ConfigMap', 'configmaps'),
  /** Written, never read. */
  secrets: defineResource('v1', 'Secret', 'secrets'),
  services: defineResource('v1', 'Service', 'services'),
  serviceAccounts: defineResource('v1', 'ServiceAccount', 'serviceaccounts'),
  persistentVolumeClaims: defineResource<PersistentVolumeClaim>('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  storageClasses: defineResource('storage.k8s.io/v1', 'StorageClass', 'storageclasses', false),
  volumeSnapshots: defineResource<VolumeSnapshot>(snapshots, 'VolumeSnapshot', 'volumesnapshots'),
  volumeSnapshotClasses: defineResource(snapshots, 'VolumeSnapshotClass', 'volumesnapshotclasses', false),
  workloads: defineResource<Workload>(kueue, 'Workload', 'workloads'),
  resourceFlavors: defineResource<ResourceFlavor>(kueue, 'ResourceFlavor', 'resourceflavors', false),
  resourceSlices: defineResource<PublishedSlice>(dynamic, 'ResourceSlice', 'resourceslices', false),
  deviceClasses: defineResource<DeviceClass>(dynamic, 'DeviceClass', 'deviceclasses', false),
  resourceClaims: defineResource(dynamic, 'ResourceClaim', 'resourceclaims'),
  podTemplates: defineResource<PodTemplate>('v1', 'PodTemplate', 'podtemplates'),
  jobs: defineResource<Job>('batch/v1', 'Job', 'jobs'),
  deployments: defineResource<Deployment>('apps/v1', 'Deployment', 'deployments'),
  controllerRevisions: defineResource<ControllerRevision>('apps/v1', 'ControllerRevision', 'controllerrevisions'),
  podDisruptionBudgets: defineResource('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  roles: defineResource('rbac.authorization.k8s.io/v1', 'Role', 'roles'),
  roleBindings: defineResource('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings'),
  networkPolicies: defineResource<NetworkPolicy>('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
} as const;
