import type { KubeObject } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { isAccepted } from '../../../pools/resolve.ts';
import { accessName, workerServiceAccount } from '../../../pools/names.ts';
import { identity, isTerminating, type Namespace, resources } from '../../../runtime/resources.ts';
import { jwksConfigMap, sandboxNetworkPolicy } from '../../agenttask/sandbox/pod.ts';
import type { Child } from '../children.ts';
import { homeOf, manifest, type Manifest } from '../../../operands/manifest.ts';
import { poolNamespaceLabel } from '../../../runtime/caches.ts';

/** Facts that are known about one namespace with tasks. */
export interface NamespaceSnapshot {
  readonly namespace: Namespace;
  /** Pools whose workers run tasks here, sorted. */
  readonly pools: readonly ExpertPool[];
  /** Whether there are sandboxes, also of finished tasks. */
  readonly sandboxes: boolean;
  readonly workerClusterRole: string;
  readonly jwks: string;
  /** ConfigMaps that tasks name which have not ended, sorted, by the keys of the pools that run them. */
  readonly files: ReadonlyMap<string, readonly string[]>;
  /** RoleBindings here that let workers in. */
  readonly access: readonly RoleBinding[];
  /** Roles here that say which ConfigMaps workers read. */
  readonly roles: readonly KubeObject[];
  /** The wall and the signing keys, as far as they are here. */
  readonly shared: readonly Child[];
}

/** The part of `rbac.authorization.k8s.io/v1.RoleBinding` that decisions look at. */
export interface RoleBinding extends KubeObject {
  readonly roleRef?: { readonly name?: string };
}

interface NamespaceDecision {
  /** Treatment of the key by which keepers and runners recognise each other: made before and removed before everything else. */
  readonly linkKey: 'Keep' | 'Remove' | 'None';
  readonly apply: readonly Manifest[];
  readonly remove: readonly Child[];
}

const nothing: NamespaceDecision = { linkKey: 'None', apply: [], remove: [] };

/** These belong to no pool: several may stand behind them, and the caller last must not take them from the others. */
const sharedLabels = { [labels.component]: 'sandbox' };

const rbacGroup = 'rbac.authorization.k8s.io';

const ownLabels = (pool: ExpertPool): Readonly<Record<string, string>> => ({
  [labels.component]: 'worker',
  [labels.pool]: pool.metadata.name,
  [poolNamespaceLabel]: homeOf(pool),
});

function binding(pool: ExpertPool, namespace: string, name: string, role: { readonly kind: string; readonly name: string }): Manifest {
  return manifest(
    resources.roleBindings,
    { name, namespace, labels: ownLabels(pool) },
    {
      roleRef: { apiGroup: rbacGroup, ...role },
      subjects: [{ kind: 'ServiceAccount', name: workerServiceAccount(pool.metadata.name), namespace: homeOf(pool) }],
    },
  );
}

/** The RoleBinding that lets the workers of a pool read and report tasks of a namespace. Pure. */
export function accessBinding(pool: ExpertPool, namespace: string, clusterRole: string): Manifest {
  return binding(pool, namespace, accessOf(pool), { kind: 'ClusterRole', name: clusterRole });
}

/** Returns the objects that let the workers of a pool read the ConfigMaps that its tasks here name, and no other ones. Pure. */
export function filesAccess(pool: ExpertPool, namespace: string, configMaps: readonly string[]): readonly Manifest[] {
  if (configMaps.length === 0) return [];
  const name = filesOf(pool);
  const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [...configMaps], verbs: ['get'] }];
  const role = manifest(resources.roles, { name, namespace, labels: ownLabels(pool) }, { rules });
  return [role, binding(pool, namespace, name, { kind: 'Role', name })];
}

/**
 * The wall around all sandboxes of a namespace, with a door for the workers of these namespaces. Without any the door is
 * left out: an empty list of peers would let everybody in. Pure.
 */
export function sandboxWall(namespace: string, workerNamespaces: readonly string[]): Manifest {
  const { metadata, spec } = sandboxNetworkPolicy(namespace, workerNamespaces);
  const { podSelector, policyTypes, ingress } = spec;
  const of = { name: String(metadata?.name), namespace, labels: sharedLabels };
  // Nothing goes out: policyTypes is enough. An empty list would mean the same, but the server drops it, and each apply
  // would then be a change.
  return manifest(resources.networkPolicies, of, {
    spec: { podSelector, policyTypes, ...(workerNamespaces.length === 0 ? {} : { ingress }) },
  });
}

/** The cluster's signing keys, by which keepers recognise their worker. Pure. */
export function signingKeys(namespace: string, jwks: string): Manifest {
  const data = { 'jwks.json': jwks };
  return manifest(resources.configMaps, { name: jwksConfigMap, namespace, labels: sharedLabels }, { data });
}

const accessOf = (pool: ExpertPool): string => accessName({ namespace: homeOf(pool), name: pool.metadata.name });

const filesOf = (pool: ExpertPool): string => `${accessOf(pool)}.files`;

/**
 * Decides which objects a namespace is to hold for the pools that serve it. A pool of another namespace that cannot be
 * carried out as it is gets nothing new here, and keeps what it has. Pure.
 */
export function decideNamespace(snapshot: NamespaceSnapshot): NamespaceDecision {
  const { namespace, pools, sandboxes, access, roles, files, shared, workerClusterRole, jwks } = snapshot;
  const { name } = namespace.metadata;
  // Nothing may be made there any more, and everything goes by itself.
  if (isTerminating(namespace)) return nothing;
  const served = pools.filter(
    (pool) => homeOf(pool) === name || isAccepted(pool) || access.some(({ metadata }) => metadata.name === accessOf(pool)),
  );
  const bindings = served.flatMap((pool) => [
    accessBinding(pool, name, workerClusterRole),
    ...filesAccess(pool, name, files.get(`${homeOf(pool)}/${pool.metadata.name}`) ?? []),
  ]);
  const homes = [...new Set(served.map(homeOf))].sort();
  // Our wall stays as long as anything is behind it; sandboxes of other owners are not ours to wall in.
  const walled = served.length > 0 || (sandboxes && shared.length > 0);
  const common = walled ? [sandboxWall(name, homes), signingKeys(name, jwks)] : [];
  const wanted = new Map(bindings.map(({ resource, object }) => [identity(resource, object.metadata.name), object as RoleBinding]));
  const wants = ({ metadata }: KubeObject, resource: Child['resource']): RoleBinding | undefined =>
    wanted.get(identity(resource, metadata.name));
  // A roleRef cannot be changed: the binding is made again when this one is seen to be gone.
  const stale = access.filter(
    (object) => wants(object, resources.roleBindings)?.roleRef?.name !== object.roleRef?.name || object.roleRef === undefined,
  );
  const going = new Set(stale.map(({ metadata }) => identity(resources.roleBindings, metadata.name)));
  const dropped = roles.filter((object) => wants(object, resources.roles) === undefined);
  return {
    linkKey: walled ? 'Keep' : shared.length > 0 ? 'Remove' : 'None',
    apply: [...common, ...bindings.filter(({ resource, object }) => !going.has(identity(resource, object.metadata.name)))],
    remove: [
      ...stale.map((object) => ({ resource: resources.roleBindings, object })),
      ...dropped.map((object) => ({ resource: resources.roles, object })),
      ...(walled ? [] : shared),
    ],
  };
}
