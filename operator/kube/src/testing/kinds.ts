import { defineResource, resourceName, type Resource } from '../api/resource.ts';
import type { Json } from './json.ts';

/** Rule by which server-side apply merges a list: by the keys of its items, or as a set. Lists that are not named are atomic. */
export type ListType = readonly string[] | 'set';

/** Properties of a kind for the fake. */
export interface KindDefinition {
  readonly resource: Resource;
  /** Status is written through /status only, and there only status. */
  readonly statusSubresource?: boolean;
  /** metadata.generation counts changes outside metadata and status. */
  readonly generation?: boolean;
  /** Lists by their path, `spec.containers`. */
  readonly lists?: Readonly<Record<string, ListType>>;
  /** Paths for field selectors, apart from metadata.name and metadata.namespace. */
  readonly selectableFields?: readonly string[];
  /** Deletion waits for a delete with grace 0, while bound to a node. */
  readonly graceful?: boolean;
  /** Returns the fault of an object, in words. */
  readonly validate?: (object: Json) => string | undefined;
  /** POST to a subresource. */
  readonly subresources?: Readonly<Record<string, (object: Json, body: Json) => Json>>;
}

const anyObject: Readonly<Record<string, ListType>> = {
  'metadata.finalizers': 'set',
  'metadata.ownerReferences': ['uid'],
  'status.conditions': ['type'],
};

const pod: Readonly<Record<string, ListType>> = {
  'spec.containers': ['name'],
  'spec.initContainers': ['name'],
  'spec.containers.ports': ['containerPort', 'protocol'],
  'spec.containers.env': ['name'],
  'spec.containers.volumeMounts': ['mountPath'],
  'spec.volumes': ['name'],
};

export function listType(kind: KindDefinition, path: string): ListType | undefined {
  return kind.lists?.[path] ?? anyObject[path];
}

export function kindName(kind: KindDefinition): string {
  return resourceName(kind.resource);
}

function core(plural: string, kind: string, traits: Omit<KindDefinition, 'resource'> = {}, namespaced = true): KindDefinition {
  return { resource: defineResource('v1', kind, plural, namespaced), ...traits };
}

function grouped(group: string, plural: string, kind: string, traits: Omit<KindDefinition, 'resource'> = {}): KindDefinition {
  return { resource: defineResource(`${group}/v1`, kind, plural), ...traits };
}

/** Kinds that every server has. */
export function builtinKinds(): readonly KindDefinition[] {
  return [
    core('namespaces', 'Namespace', {}, false),
    core('nodes', 'Node', { statusSubresource: true }, false),
    core('configmaps', 'ConfigMap'),
    core('secrets', 'Secret'),
    core('serviceaccounts', 'ServiceAccount'),
    core('services', 'Service', { lists: { 'spec.ports': ['port', 'protocol'] } }),
    core('persistentvolumeclaims', 'PersistentVolumeClaim', { statusSubresource: true }),
    core('pods', 'Pod', { statusSubresource: true, lists: pod, graceful: true, selectableFields: ['spec.nodeName', 'status.phase'] }),
    grouped('coordination.k8s.io', 'leases', 'Lease'),
    grouped('events.k8s.io', 'events', 'Event', { selectableFields: ['regarding.uid'] }),
    {
      resource: defineResource('node.k8s.io/v1', 'RuntimeClass', 'runtimeclasses', false),
    },
    grouped('networking.k8s.io', 'networkpolicies', 'NetworkPolicy', { generation: true }),
    grouped('apps', 'deployments', 'Deployment', { statusSubresource: true, generation: true }),
  ];
}
