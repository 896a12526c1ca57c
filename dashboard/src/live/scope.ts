import type { Resource, Transport } from '@agentfleet/kube';
import { bounds } from '../base/config.ts';

/** Where a user may watch a kind. */
export interface Scope {
  readonly namespaces: 'All' | readonly string[];
  readonly denied: readonly string[];
}

const apiGroup = 'authorization.k8s.io/v1';

/** Whether the user may watch the kind in a namespace, or in all: the API server's own answer. */
async function mayWatch(transport: Transport, { group, plural }: Resource, namespace?: string): Promise<boolean> {
  const answer = await transport.request<{ readonly status?: { readonly allowed?: boolean } }>({
    method: 'POST',
    path: `/apis/${apiGroup}/selfsubjectaccessreviews`,
    body: {
      apiVersion: apiGroup,
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { group, resource: plural, verb: 'watch', ...(namespace === undefined ? {} : { namespace }) } },
    },
    retry: false,
    timeoutMs: 10_000,
  });
  return answer.status?.allowed === true;
}

/** Namespaces that the user may list; undefined: none may be listed. */
export async function visibleNamespaces(transport: Transport): Promise<readonly string[] | undefined> {
  try {
    const { items } = await transport.request<{ readonly items: readonly { readonly metadata: { readonly name: string } }[] }>({
      method: 'GET',
      path: '/api/v1/namespaces',
      query: { limit: 1000 },
      retry: false,
      timeoutMs: 10_000,
    });
    return items.map(({ metadata }) => metadata.name);
  } catch {
    return undefined;
  }
}

/** All namespaces by one watch where the user may; else each of `wanted` that they may, and the others by name. */
export async function scopeOf(transport: Transport, resource: Resource, wanted: readonly string[]): Promise<Scope> {
  if (await mayWatch(transport, resource)) return { namespaces: 'All', denied: [] };
  const asked = [...new Set(wanted)].slice(0, bounds.namespacesPerUser);
  const allowed = await Promise.all(asked.map((namespace) => mayWatch(transport, resource, namespace)));
  return { namespaces: asked.filter((_, at) => allowed[at]), denied: asked.filter((_, at) => !allowed[at]) };
}
