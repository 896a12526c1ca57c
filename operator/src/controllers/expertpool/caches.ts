import type { Informer, KubeObject, Resource } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { cacheOfOurs, type CacheOptions } from '../../runtime/caches.ts';
import type { Caches } from '../../runtime/context.ts';
import { type ControllerRevision, type Job, resources } from '../../runtime/resources.ts';
import { poolNamespaceLabel } from '../../runtime/poolIndex.ts';

/** Index of RoleBindings by the pool that they give access to, `namespace/name`. */
export const accessIndex = 'access';

/** Caches of the kinds that pools consist of and that nobody else looks at. There are few such objects. */
export interface ChildCaches {
  readonly serviceAccounts: Informer;
  readonly roles: Informer;
  readonly roleBindings: Informer;
  readonly services: Informer;
  readonly networkPolicies: Informer;
  readonly podDisruptionBudgets: Informer;
  readonly controllerRevisions: Informer<ControllerRevision>;
  readonly jobs: Informer<Job>;
}

/** Makes the caches; the process runs them. */
export function createChildCaches(options: CacheOptions): ChildCaches {
  return {
    serviceAccounts: cacheOfOurs(options, resources.serviceAccounts),
    roles: cacheOfOurs(options, resources.roles),
    roleBindings: cacheOfOurs(options, resources.roleBindings, { [accessIndex]: accessOf }),
    services: cacheOfOurs(options, resources.services),
    networkPolicies: cacheOfOurs(options, resources.networkPolicies),
    podDisruptionBudgets: cacheOfOurs(options, resources.podDisruptionBudgets),
    controllerRevisions: cacheOfOurs(options, resources.controllerRevisions),
    jobs: cacheOfOurs(options, resources.jobs),
  };
}

/** The pool whose workers a RoleBinding lets into its namespace; none for any other object. */
export function accessOf(object: KubeObject): readonly string[] {
  const { [poolNamespaceLabel]: namespace, [labels.pool]: name } = object.metadata.labels ?? {};
  return namespace === undefined || name === undefined ? [] : [`${namespace}/${name}`];
}

/** A kind of child, and the cache that shows it. */
export interface ChildKind {
  readonly resource: Resource;
  readonly cache: Informer;
}

/** All kinds of children in the order in which they are made: what others need comes first. */
export function childKinds(
  caches: Pick<Caches, 'configMaps' | 'deployments' | 'persistentVolumeClaims'>,
  children: ChildCaches,
): readonly ChildKind[] {
  const { configMaps, deployments, persistentVolumeClaims } = caches;
  return [
    { resource: resources.serviceAccounts, cache: children.serviceAccounts },
    { resource: resources.roles, cache: children.roles },
    { resource: resources.roleBindings, cache: children.roleBindings },
    { resource: resources.configMaps, cache: configMaps },
    { resource: resources.controllerRevisions, cache: children.controllerRevisions },
    { resource: resources.persistentVolumeClaims, cache: persistentVolumeClaims },
    { resource: resources.networkPolicies, cache: children.networkPolicies },
    { resource: resources.services, cache: children.services },
    { resource: resources.podDisruptionBudgets, cache: children.podDisruptionBudgets },
    { resource: resources.jobs, cache: children.jobs },
    { resource: resources.deployments, cache: deployments },
  ];
}
