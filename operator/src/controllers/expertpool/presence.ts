import type { KubeObject, ResourceClient } from '@agentfleet/kube';
import type { Child } from './children.ts';
import type { Manifest } from '../../operands/manifest.ts';
import { identity } from './ownership.ts';

/** Whether something is to be made that is not there, as far as the caches know. Pure. */
export function makesAnew(wanted: readonly Manifest[], present: readonly Child[]): boolean {
  const there = new Set(present.map(({ resource, object }) => identity(resource, object.metadata.name)));
  return wanted.some(({ resource, object }) => !there.has(identity(resource, object.metadata.name)));
}

/**
 * Whether the server has this very owner no more, or is about to remove it. Asked before anything is made for it: a cache
 * of the past shows owners that are gone, and the garbage collector takes away what is made for them, again and again.
 */
export async function isGone(client: Pick<ResourceClient, 'find'>, owner: KubeObject, signal: AbortSignal): Promise<boolean> {
  const { name, namespace = '', uid } = owner.metadata;
  const now = await client.find({ name, namespace }, { signal });
  return now === undefined || now.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined;
}
