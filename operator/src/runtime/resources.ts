import { defineResource, type KubeObject } from '@agentfleet/kube';
import { agentTask, agentTaskOrder, energyModel, expertPool, group, poolGrant, version } from '@agentfleet/protocol/api';
import type { AgentTask, AgentTaskOrder, EnergyModel, ExpertPool, Kind, PoolGrant } from '@agentfleet/protocol/api';
import type {
  ConfigMap,
  ControllerRevision,
  Deployment,
  DeviceClass,
  Job,
  Namespace,
  NetworkPolicy,
  Node,
  PersistentVolumeClaim,
  Pod,
  PodTemplate,
  PublishedSlice,
  RuntimeClass,
  VolumeSnapshot,
} from './objects.ts';

function ours<T extends KubeObject>({ kind, plural }: Kind) {
  return defineResource<T>({ group, version, plural, kind, namespaced: true });
}

function core<T extends KubeObject = KubeObject>(kind: string, plural: string, namespaced = true) {
  return defineResource<T>({ group: '', version: 'v1', plural, kind, namespaced });
}

/** Its definitions come with the snapshot controller, which not every cluster has. */
const snapshotGroup = { group: 'snapshot.storage.k8s.io', version: 'v1' } as const;

/** Not served by clusters without dynamic resource allocation. */
const dynamic = { group: 'resource.k8s.io', version: 'v1' } as const;

/** Every resource that the operator reads or writes. */
export const resources = {
  agentTasks: ours<AgentTask>(agentTask),
  agentTaskOrders: ours<AgentTaskOrder>(agentTaskOrder),
  expertPools: ours<ExpertPool>(expertPool),
  energyModels: ours<EnergyModel>(energyModel),
  poolGrants: ours<PoolGrant>(poolGrant),
  pods: core<Pod>('Pod', 'pods'),
  namespaces: core<Namespace>('Namespace', 'namespaces', false),
  nodes: core<Node>('Node', 'nodes', false),
  runtimeClasses: defineResource<RuntimeClass>({
    group: 'node.k8s.io',
    version: 'v1',
    plural: 'runtimeclasses',
    kind: 'RuntimeClass',
    namespaced: false,
  }),
  configMaps: core<ConfigMap>('ConfigMap', 'configmaps'),
  /** Written, never read. */
  secrets: core('Secret', 'secrets'),
  services: core('Service', 'services'),
  serviceAccounts: core('ServiceAccount', 'serviceaccounts'),
  persistentVolumeClaims: core<PersistentVolumeClaim>('PersistentVolumeClaim', 'persistentvolumeclaims'),
  storageClasses: defineResource({
    group: 'storage.k8s.io',
    version: 'v1',
    plural: 'storageclasses',
    kind: 'StorageClass',
    namespaced: false,
  }),
  volumeSnapshots: defineResource<VolumeSnapshot>({
    ...snapshotGroup,
    plural: 'volumesnapshots',
    kind: 'VolumeSnapshot',
    namespaced: true,
  }),
  volumeSnapshotClasses: defineResource({
    ...snapshotGroup,
    plural: 'volumesnapshotclasses',
    kind: 'VolumeSnapshotClass',
    namespaced: false,
  }),
  resourceSlices: defineResource<PublishedSlice>({ ...dynamic, plural: 'resourceslices', kind: 'ResourceSlice', namespaced: false }),
  deviceClasses: defineResource<DeviceClass>({ ...dynamic, plural: 'deviceclasses', kind: 'DeviceClass', namespaced: false }),
  resourceClaims: defineResource({ ...dynamic, plural: 'resourceclaims', kind: 'ResourceClaim', namespaced: true }),
  podTemplates: core<PodTemplate>('PodTemplate', 'podtemplates'),
  jobs: defineResource<Job>({ group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true }),
  deployments: defineResource<Deployment>({ group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment', namespaced: true }),
  controllerRevisions: defineResource<ControllerRevision>({
    group: 'apps',
    version: 'v1',
    plural: 'controllerrevisions',
    kind: 'ControllerRevision',
    namespaced: true,
  }),
  podDisruptionBudgets: defineResource({
    group: 'policy',
    version: 'v1',
    plural: 'poddisruptionbudgets',
    kind: 'PodDisruptionBudget',
    namespaced: true,
  }),
  roles: defineResource({ group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'roles', kind: 'Role', namespaced: true }),
  roleBindings: defineResource({
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    plural: 'rolebindings',
    kind: 'RoleBinding',
    namespaced: true,
  }),
  networkPolicies: defineResource<NetworkPolicy>({
    group: 'networking.k8s.io',
    version: 'v1',
    plural: 'networkpolicies',
    kind: 'NetworkPolicy',
    namespaced: true,
  }),
} as const;
