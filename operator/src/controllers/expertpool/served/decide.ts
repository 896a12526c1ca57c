import type { KubeObject } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { accessName, workerServiceAccount } from '../../../pools/names.ts';
import { poolNamespaceLabel } from '../../../pools/warm.ts';
import type { Namespace } from '../../../runtime/objects.ts';
import { resources } from '../../../runtime/resources.ts';
import { jwksConfigMap } from '../../agenttask/names.ts';
import { sandboxNetworkPolicy } from '../../agenttask/sandboxNetworkPolicy.ts';
import type { Child } from '../children.ts';
import { homeOf, type Manifest } from '../manifests/manifest.ts';

/** What is known about one namespace with tasks. */
export interface NamespaceSnapshot {
  readonly namespace: Namespace;
  /** Pools whose workers run tasks here, sorted. */
  readonly pools: readonly ExpertPool[];
  /** Whether there are sandboxes, also of finished tasks. */
  readonly sandboxes: boolean;
  readonly workerClusterRole: string;
  readonly jwks: string;
  /** RoleBindings here that let workers in. */
  readonly access: readonly RoleBinding[];
  /** The wall and the signing keys, as far as they are here. */
  readonly shared: readonly Child[];
}

/** The part of `rbac.authorization.k8s.io/v1.RoleBinding` that decisions look at. */
export interface RoleBinding extends KubeObject {
  readonly roleRef?: { readonly name?: string };
}

export interface NamespaceDecision {
  readonly apply: readonly Manifest[];
  readonly remove: readonly Child[];
}

const nothing: NamespaceDecision = { apply: [], remove: [] };

/** These belong to no pool: several may stand behind them, and whoever asks last must not take them from the others. */
const sharedLabels = { [labels.component]: 'sandbox' };

/** The RoleBinding that lets the workers of a pool read and report tasks of a namespace. Pure. */
export function accessBinding(pool: ExpertPool, namespace: string, clusterRole: string): Manifest {
  const home = homeOf(pool);
  const { name } = pool.metadata;
  const { apiVersion, kind } = resources.roleBindings;
  const own = { [labels.component]: 'worker', [labels.pool]: name, [poolNamespaceLabel]: home };
  return {
    resource: resources.roleBindings,
    object: {
      apiVersion,
      kind,
      metadata: { name: accessName({ namespace: home, name }), namespace, labels: own },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: clusterRole },
      subjects: [{ kind: 'ServiceAccount', name: workerServiceAccount(name), namespace: home }],
    },
  };
}

/**
 * The wall around all sandboxes of a namespace, with a door for the workers of these namespaces. Without any the door is
 * left out: an empty list of peers would let everybody in. Pure.
 */
export function sandboxWall(namespace: string, workerNamespaces: readonly string[]): Manifest {
  const { apiVersion, kind, metadata, spec } = sandboxNetworkPolicy(namespace, workerNamespaces);
  const { podSelector, policyTypes, ingress } = spec;
  return {
    resource: resources.networkPolicies,
    object: {
      apiVersion: String(apiVersion),
      kind: String(kind),
      metadata: { name: String(metadata?.name), namespace, labels: sharedLabels },
      // Nothing goes out: policyTypes says so. An empty list would say it too, but the server drops it, and each apply
      // would then be a change.
      spec: { podSelector, policyTypes, ...(workerNamespaces.length === 0 ? {} : { ingress }) },
    },
  };
}

/** The cluster's signing keys, by which keepers tell their worker. Pure. */
export function signingKeys(namespace: string, jwks: string): Manifest {
  const { apiVersion, kind } = resources.configMaps;
  return {
    resource: resources.configMaps,
    object: {
      apiVersion,
      kind,
      metadata: { name: jwksConfigMap, namespace, labels: sharedLabels },
      data: { 'jwks.json': jwks },
    },
  };
}

/** What a namespace is to hold for the pools that serve it. Pure. */
export function decideNamespace(snapshot: NamespaceSnapshot): NamespaceDecision {
  const { namespace, pools, sandboxes, access, shared, workerClusterRole, jwks } = snapshot;
  const { name, deletionTimestamp } = namespace.metadata;
  // Nothing may be made there any more, and everything goes by itself.
  if (deletionTimestamp !== undefined || namespace.status?.phase === 'Terminating') return nothing;
  const bindings = pools.map((pool) => accessBinding(pool, name, workerClusterRole));
  const homes = [...new Set(pools.map(homeOf))].sort();
  // Our wall stays as long as anything is behind it; somebody else's sandboxes are not ours to wall in.
  const walled = pools.length > 0 || (sandboxes && shared.length > 0);
  const common = walled ? [sandboxWall(name, homes), signingKeys(name, jwks)] : [];
  const wanted = new Set(bindings.map(({ object }) => object.metadata.name));
  // A roleRef cannot be changed: the binding is made anew when this one is seen to be gone.
  const stale = access.filter(({ metadata, roleRef }) => !wanted.has(metadata.name) || roleRef?.name !== workerClusterRole);
  const going = new Set(stale.map(({ metadata }) => metadata.name));
  return {
    apply: [...common, ...bindings.filter(({ object }) => !going.has(object.metadata.name))],
    remove: [...stale.map((object) => ({ resource: resources.roleBindings, object })), ...(walled ? [] : shared)],
  };
}
