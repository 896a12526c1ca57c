import type { Stored } from './json.ts';
import { kindName, type KindDefinition } from './kinds.ts';
import type { Objects } from './objects.ts';

const system = { manager: 'garbage-collector', dryRun: false };

function allOf(objects: Objects): (readonly [KindDefinition, Stored])[] {
  return [...objects.kinds.values()].flatMap((kind) =>
    [...objects.store.current(kindName(kind)).values()].map((object) => [kind, object] as const),
  );
}

/** Deletes what only absent owners own, and empties namespaces that are being deleted. */
export function collectGarbage(objects: Objects): void {
  const all = allOf(objects);
  const present = new Set(all.map(([, object]) => object.metadata.uid));
  for (const [kind, object] of all) {
    const owners = object.metadata.ownerReferences ?? [];
    const orphaned = owners.length > 0 && owners.every((owner) => !present.has(owner.uid));
    if (orphaned || inDeadNamespace(objects, object)) remove(objects, kind, object);
  }
  for (const namespace of objects.store.current('namespaces').values()) finishNamespace(objects, namespace);
}

function inDeadNamespace(objects: Objects, object: Stored): boolean {
  const { namespace } = object.metadata;
  return namespace !== undefined && objects.store.get('namespaces', namespace)?.metadata.deletionTimestamp !== undefined;
}

function remove(objects: Objects, kind: KindDefinition, object: Stored): void {
  if (object.metadata.deletionTimestamp !== undefined) return;
  const { name, namespace, uid } = object.metadata;
  try {
    objects.delete({ kind, namespace, name, subresource: '' }, { preconditions: uid === undefined ? {} : { uid } }, system);
  } catch {
    // Another client deleted it meanwhile.
  }
}

function finishNamespace(objects: Objects, namespace: Stored): void {
  if (namespace.metadata.deletionTimestamp === undefined) return;
  const { name } = namespace.metadata;
  const kind = objects.kinds.get('namespaces');
  const empty = !allOf(objects).some(([, object]) => object.metadata.namespace === name);
  if (empty && kind !== undefined && objects.store.get('namespaces', name) === namespace) objects.remove(kind, namespace);
}
