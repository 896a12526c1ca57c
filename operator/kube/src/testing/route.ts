import type { Json } from './json.ts';
import type { KindDefinition } from './kinds.ts';
import type { Verb } from './faults.ts';

/** A request path taken apart. */
export interface Route {
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string;
}

const form =
  /^\/(?:api\/(?<core>[^/]+)|apis\/(?<group>[^/]+)\/(?<version>[^/]+))(?:\/namespaces\/(?<namespace>[^/]+)(?=\/[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?:\/(?<sub>[^/]+))?$/;

/** Undefined when it is no path of a resource. */
export function parseRoute(path: string, kinds: ReadonlyMap<string, KindDefinition>): Route | undefined {
  const parts = form.exec(path)?.groups;
  if (parts === undefined) return undefined;
  const { group = '', namespace, plural = '', name, sub = '' } = parts;
  const resource = group === '' ? plural : `${plural}.${group}`;
  if (!kinds.has(resource)) {
    // `/api/v1/namespaces/x/status` reads like a collection in a namespace.
    const own = namespace !== undefined && plural === 'status' && group === '';
    return own ? { resource: 'namespaces', namespace: undefined, name: namespace, subresource: plural } : undefined;
  }
  const decode = (part: string | undefined): string | undefined => (part === undefined ? undefined : decodeURIComponent(part));
  return { resource, namespace: decode(namespace), name: decode(name), subresource: sub };
}

/** The verb of RBAC, with apply distinguished from patch. */
export function verbOf(method: string, route: Route, query: URLSearchParams, contentType: string): Verb | undefined {
  const one = route.name !== undefined;
  switch (method) {
    case 'GET':
      if (one) return 'get';
      return ['true', '1'].includes(query.get('watch') ?? '') ? 'watch' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return one ? 'update' : undefined;
    case 'PATCH':
      if (!one) return undefined;
      return contentType.startsWith('application/apply-patch') ? 'apply' : 'patch';
    case 'DELETE':
      return one ? 'delete' : 'deletecollection';
    default:
      return undefined;
  }
}

export function bodyOf(text: string): Json {
  return text === '' ? {} : (JSON.parse(text) as Json);
}
