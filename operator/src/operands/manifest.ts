import { controllerReference, type KubeObject, type OwnerReference, type Resource } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { recordName, type Recorded, type RolloutOwner } from '../revisions/index.ts';
import { resources } from '../runtime/resources.ts';

/** One object as it is to be: the body of a server-side apply. */
export interface Manifest {
  readonly resource: Resource;
  readonly object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata: {
      readonly name: string;
      readonly namespace: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly ownerReferences?: readonly OwnerReference[];
    };
    readonly [field: string]: unknown;
  };
}

export type Component = 'worker' | 'expert' | 'weights' | 'gateway';

/** Namespace of a pool. */
export function homeOf(pool: ExpertPool): string {
  return pool.metadata.namespace ?? '';
}

/** Labels of everything in a pool; those of its pods are what selectors look for. */
export function poolLabels(pool: ExpertPool, component: Component, expert?: string, revision?: string): Record<string, string> {
  return {
    [labels.component]: component,
    [labels.pool]: pool.metadata.name,
    ...(expert === undefined ? {} : { [labels.expert]: expert }),
    ...(revision === undefined ? {} : { [labels.revision]: revision }),
  };
}

/** Name and labels of an object of a pool. */
export interface Identity {
  readonly name: string;
  readonly component: Component;
  readonly expert?: string | undefined;
  readonly revision?: string | undefined;
}

/** An object of a kind. */
export function manifest(
  resource: Resource,
  metadata: Manifest['object']['metadata'],
  content: Readonly<Record<string, unknown>>,
): Manifest {
  return { resource, object: { ...content, apiVersion: resource.apiVersion, kind: resource.kind, metadata } };
}

/** An object in the namespace of the pool that outlives the pool, because it holds what people want to keep. */
export function kept(pool: ExpertPool, resource: Resource, of: Identity, content: Readonly<Record<string, unknown>>): Manifest {
  return manifest(resource, { name: of.name, namespace: homeOf(pool), labels: poolLabels(pool, of.component, of.expert) }, content);
}

/** An object in the namespace of the pool, which goes when the pool goes. */
export function owned(pool: ExpertPool, resource: Resource, of: Identity, content: Readonly<Record<string, unknown>>): Manifest {
  return ownedBy(pool, resource, { name: of.name, labels: labelsOf(pool, of) }, content);
}

function labelsOf(pool: ExpertPool, { component, expert, revision }: Identity): Record<string, string> {
  return poolLabels(pool, component, expert, revision);
}

/** The Service of pods of a pool that listen at one port. */
export function serviceOf(pool: ExpertPool, of: Identity, port: number): Manifest {
  const ports = [{ name: 'http', port, protocol: 'TCP', targetPort: 'http' }];
  return owned(pool, resources.services, of, { spec: { type: 'ClusterIP', selector: labelsOf(pool, of), ports } });
}

/** Keeps a drain of nodes from ending all pods of a Deployment at once; a single one would only block the drain. */
export function disruptionBudget(pool: ExpertPool, of: Identity, replicas: number): readonly Manifest[] {
  if (replicas < 2) return [];
  const spec = { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector: { matchLabels: labelsOf(pool, of) } };
  return [owned(pool, resources.podDisruptionBudgets, of, { spec })];
}

/** An object in the namespace of its owner, which goes when the owner goes. */
export function ownedBy(
  owner: KubeObject,
  resource: Resource,
  of: { readonly name: string; readonly labels: Readonly<Record<string, string>> },
  content: Readonly<Record<string, unknown>>,
): Manifest {
  return manifest(resource, { ...of, namespace: owner.metadata.namespace ?? '', ownerReferences: [controllerReference(owner)] }, content);
}

/** The ControllerRevision that puts a revision on record. Pure. */
export function recordOf<A extends { readonly revision: string }>(
  owner: RolloutOwner,
  labels: Readonly<Record<string, string>>,
  { number, ...data }: Recorded<A>,
): Manifest {
  return ownedBy(owner, resources.controllerRevisions, { name: recordName(owner, data.revision), labels }, { revision: number, data });
}
