// operator/kube, api: Kubernetes objects, their metadata, keys, paths and versions. Imports nothing of other folders.

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

/** Fields of every stored object. Objects from caches are shared: read them, never change them. */
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

export function parseKey(key: ObjectKey): ObjectName {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** One kind of object behind one path of the API. `T` is the shape of its objects. */
export interface Resource<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** `group/version` as objects carry it. */
  readonly apiVersion: string;
  /** Only in the types; never set. */
  readonly shape?: T;
}

/** Declares a resource by its `apiVersion`, such as `v1` or `apps/v1`. */
export function defineResource<T extends KubeObject = KubeObject>(
  apiVersion: string,
  kind: string,
  plural: string,
  namespaced = true,
): Resource<T> {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  return { apiVersion, group, version, kind, plural, namespaced };
}

/** `plural.group`, the name that errors, metrics and CRDs use. */
export function resourceName(resource: Resource): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
}

/** Path of the collection; without a namespace the one across all namespaces. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope = resource.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${scope}/${resource.plural}`;
}

/** Path of one object. Throws a TypeError when a namespaced object is named without its namespace. */
export function objectPath(
  resource: Resource,
  name: { readonly namespace?: string | undefined; readonly name: string },
  subresource?: string,
): string {
  if (name.name === '') throw new TypeError(`a name is needed to address one of ${resourceName(resource)}`);
  if (resource.namespaced && !name.namespace)
    throw new TypeError(`a namespace is needed to address ${resourceName(resource)} ${name.name}`);
  const path = `${collectionPath(resource, name.namespace)}/${encodeURIComponent(name.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

const digits = /^(0|[1-9][0-9]*)$/;

/**
 * Orders resource versions of one resource: negative when `a` is older. Versions are decimal integers of any
 * length, and ordered per resource (KEP-5504, stable in 1.35); never parsed to a double, which has 53 bits.
 * Undefined when one of them is not such a number.
 */
export function compareVersions(a: string | undefined, b: string | undefined): number | undefined {
  if (a === undefined || b === undefined || !digits.test(a) || !digits.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** True when `seen` is `wanted` or newer, or when they cannot be compared. */
export function atLeast(seen: string | undefined, wanted: string): boolean {
  const order = compareVersions(seen, wanted);
  return order === undefined ? seen !== undefined : order >= 0;
}

/** Reports whether a value is an object of JSON. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Orders objects by age, the oldest first; of one second by key. */
export function byAge({ metadata: a }: Pick<KubeObject, 'metadata'>, { metadata: b }: Pick<KubeObject, 'metadata'>): number {
  const [x, y] = [a, b].map(({ creationTimestamp = '', namespace = '', name }) => `${creationTimestamp} ${namespace}/${name}`) as [
    string,
    string,
  ];
  return x < y ? -1 : Number(x > y);
}
