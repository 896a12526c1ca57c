import type { KubeObject, OwnerReference } from '../api/object.ts';
import { KubeError } from '../runtime/errors.ts';

/** The owner that manages an object; at most one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

/** Whether this very incarnation of the owner controls the object: names come again, uids do not. */
export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return owner.metadata.uid !== undefined && controllerOf(object)?.uid === owner.metadata.uid;
}

/**
 * The reference by which `owner` controls a child. With `blockOwnerDeletion` its writer needs `update` on the owner's
 * finalizers subresource. Throws a TypeError when the owner has no uid or kind: it was not read from the server.
 */
export function controllerReference(owner: KubeObject, blockOwnerDeletion = true): OwnerReference {
  const { apiVersion, kind } = owner;
  const { name, uid } = owner.metadata;
  if (apiVersion === undefined || kind === undefined || uid === undefined) {
    throw new TypeError(`an owner needs apiVersion, kind and uid: ${kind ?? 'object'} ${name}`);
  }
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion };
}

/**
 * The child's references with that of the controller. Throws AF_ALREADY_OWNED when another one controls the child, and
 * a RangeError when the owner is in another namespace, which the garbage collector takes for a deleted owner.
 */
export function withController(owner: KubeObject, child: KubeObject, blockOwnerDeletion = true): readonly OwnerReference[] {
  const ownerNamespace = owner.metadata.namespace ?? '';
  if (ownerNamespace !== '' && ownerNamespace !== (child.metadata.namespace ?? '')) {
    throw new RangeError(
      `an owner in namespace ${ownerNamespace} cannot own ${child.metadata.name} in ${child.metadata.namespace ?? 'no namespace'}`,
    );
  }
  const reference = controllerReference(owner, blockOwnerDeletion);
  const present = controllerOf(child);
  if (present !== undefined && present.uid !== reference.uid) {
    const what = `controlled by ${present.kind} ${present.name} already`;
    throw new KubeError('AF_ALREADY_OWNED', {
      what,
      where: `${child.kind ?? 'object'} ${child.metadata.name}`,
      cure: 'Choose another name for the child',
    });
  }
  return [...(child.metadata.ownerReferences ?? []).filter((other) => other.uid !== reference.uid), reference];
}
