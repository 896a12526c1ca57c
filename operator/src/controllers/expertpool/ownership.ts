import { controllerOf, isControlledBy, keyOf, resourceName, type KubeObject } from '@agentfleet/kube';
import type { Child } from './children.ts';
import type { Manifest } from '../../operands/manifest.ts';

/** Tells objects of one namespace apart. */
export const identity = (resource: { readonly plural: string; readonly group: string }, name: string): string =>
  `${resource.group}/${resource.plural}/${name}`;

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

/** What an owner controls and does not want any more. `keep` names more that must stay. Pure. */
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
