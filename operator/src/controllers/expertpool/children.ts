import {
  Applier,
  keyOf,
  resourceName,
  ResourceClient,
  type KubeObject,
  type Resource,
  type Transport,
  type Informer,
  controllerOf,
  isControlledBy,
} from '@agentfleet/kube';
import { fieldManagers } from '@agentfleet/protocol/api';
import type { Manifest } from '../../operands/manifest.ts';
import { labels } from '@agentfleet/protocol/pool';
import { cacheOfOurs, type CacheOptions, poolNamespaceLabel } from '../../runtime/caches.ts';
import type { Caches } from '../../runtime/context.ts';
import { type ControllerRevision, identity, type Job, resources } from '../../runtime/resources.ts';
import { objectWith, type OperandSettings } from '../../runtime/settings.ts';

/** An object that is there, and its kind. */
export interface Child {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/** Writes children, and only what is not in place. */
export class ChildWriter {
  readonly #kinds = new Map<string, ChildKind & { readonly client: ResourceClient; readonly applier: Applier<KubeObject> }>();
  readonly #settings: OperandSettings;

  /** `settings`: what the administrator set for all that is written. */
  constructor(transport: Transport, kinds: readonly ChildKind[], settings: OperandSettings = {}) {
    this.#settings = settings;
    for (const { resource, cache } of kinds) {
      const client = new ResourceClient(transport, resource);
      const applier = new Applier({ client, view: cache, fieldManager: fieldManagers.operator });
      this.#kinds.set(resourceName(resource), { resource, cache, client, applier });
      cache.addHandler({ onDelete: (object) => applier.forget(keyOf(object)) });
    }
  }

  /** Applies by server-side apply. What the server has, or undefined when our own write is not in the cache yet. */
  async apply({ resource, object }: Manifest, signal: AbortSignal): Promise<KubeObject | undefined> {
    const { cache, applier } = this.#of(resource);
    const applied = await applier.apply(objectWith(object, this.#settings, cache.lister.get(keyOf(object))), signal);
    return applied.object;
  }

  /** Deletes this very incarnation; what is gone or has been made again is left alone. */
  async remove({ resource, object }: Child, signal: AbortSignal): Promise<void> {
    if (object.metadata.deletionTimestamp !== undefined) return;
    await this.#of(resource).client.remove(object, { propagationPolicy: 'Background', signal });
  }

  #of(resource: Resource) {
    const found = this.#kinds.get(resourceName(resource));
    if (found === undefined) throw new RangeError(`${resourceName(resource)} is no kind of child`);
    return found;
  }
}

/** Index of RoleBindings by the pool that they give access to, `namespace/name`. */
export const accessIndex = 'access';

/** Caches of the kinds that pools consist of and that no other controller reads. There are few such objects. */
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
interface ChildKind {
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

/** Lists the Jobs that an owner controls. */
export function jobsOf({ jobs }: Pick<ChildCaches, 'jobs'>, owner: KubeObject): readonly Job[] {
  return jobs.lister.list({ namespace: owner.metadata.namespace ?? '' }).filter((job) => isControlledBy(job, owner));
}

/** Lists the objects of these kinds in a namespace that `isOne` holds for. */
export function childrenIn(kinds: readonly ChildKind[], namespace: string, isOne: (object: KubeObject) => boolean): readonly Child[] {
  return kinds.flatMap(({ resource, cache }) =>
    cache.lister
      .list({ namespace })
      .filter(isOne)
      .map((object) => ({ resource, object })),
  );
}

/** Names that another owner has already, in words: two owners whose children run into each other. Pure. */
export function takenNames(owner: KubeObject, wanted: readonly Manifest[], present: readonly Child[]): readonly string[] {
  const owners = new Map(present.map(({ resource, object }) => [identity(resource, object.metadata.name), object]));
  return wanted.flatMap(({ resource, object }) => {
    const found = owners.get(identity(resource, object.metadata.name));
    const other = found === undefined ? undefined : controllerOf(found);
    if (found === undefined || other === undefined || other.uid === owner.metadata.uid) return [];
    return [`${resourceName(resource)} ${keyOf(found)} belongs to ${other.kind} ${other.name}`];
  });
}

/** Lists the objects that an owner controls and does not want any more. `keep` names more that must stay. Pure. */
export function surplus(
  owner: KubeObject,
  wanted: readonly Manifest[],
  present: readonly Child[],
  keep: readonly string[] = [],
): readonly Child[] {
  const names = new Set([...wanted.map(({ resource, object }) => identity(resource, object.metadata.name)), ...keep]);
  return present.filter(
    ({ resource, object }) =>
      object.metadata.namespace === owner.metadata.namespace &&
      isControlledBy(object, owner) &&
      !names.has(identity(resource, object.metadata.name)),
  );
}

/** Reports whether something is to be made that is not there, as far as the caches show. Pure. */
export function makesAnew(wanted: readonly Manifest[], present: readonly Child[]): boolean {
  const there = new Set(present.map(({ resource, object }) => identity(resource, object.metadata.name)));
  return wanted.some(({ resource, object }) => !there.has(identity(resource, object.metadata.name)));
}

/**
 * Reports whether the server has this very owner no more, or is about to remove it. Asked before anything is made for it: a
 * cache of the past shows owners that are gone, and the garbage collector takes away what is made for them, again and again.
 */
export async function isGone(client: Pick<ResourceClient, 'find'>, owner: KubeObject, signal: AbortSignal): Promise<boolean> {
  const { name, namespace = '', uid } = owner.metadata;
  const now = await client.find({ name, namespace }, { signal });
  return now === undefined || now.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined;
}
