/** `metav1.OwnerReference`. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** `metav1.ObjectMeta` as it is on the wire: times are strings. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly generateName?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFields[];
}

export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly subresource?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: object;
  readonly time?: string;
}

/** What every stored object has. Objects from caches are shared: read them, never change them. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface NamedLiteral {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** A declaration of fields for server-side apply: any body with a name, of a declared type or written in place. */
export type Declaration = Named | NamedLiteral;

export interface ObjectName {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** `namespace/name`, or `name` of a cluster-scoped object: client-go's MetaNamespaceKeyFunc. */
export type ObjectKey = string;

export function keyOf(object: { readonly metadata: { readonly namespace?: string; readonly name: string } }): ObjectKey {
  const { namespace, name } = object.metadata;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

export function toKey(name: ObjectName): ObjectKey {
  return name.namespace === undefined || name.namespace === '' ? name.name : `${name.namespace}/${name.name}`;
}

export function parseKey(key: ObjectKey): ObjectName {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
