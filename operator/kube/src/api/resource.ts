import type { KubeObject } from './object.ts';

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

/** Declares a resource. */
export function defineResource<T extends KubeObject = KubeObject>(
  of: Pick<Resource, 'group' | 'version' | 'plural' | 'kind' | 'namespaced'>,
): Resource<T> {
  return { ...of, apiVersion: of.group === '' ? of.version : `${of.group}/${of.version}` };
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
