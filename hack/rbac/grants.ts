// hack, rbac: grants that the chart's roles give, read from its manifests. May import any package.
import type { V1PolicyRule } from '@kubernetes/client-node';

/** The parts of a chart's manifest that are read. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly V1PolicyRule[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string }[];
}

/** One verb on one resource, or on one path that is no resource. */
export interface Grant {
  /** `apps/deployments`, `/pods` of the core group, `agentfleet.dev/agenttasks/status`; a path begins with two slashes. */
  readonly what: string;
  readonly verb: string;
  /** Objects that it is bound to; absent for all. */
  readonly names?: readonly string[];
  /** The one namespace that it holds in; absent for all. */
  readonly namespace?: string;
}

function flat(rules: readonly V1PolicyRule[], namespace: string | undefined): readonly Grant[] {
  const where = namespace === undefined ? {} : { namespace };
  return rules.flatMap(({ apiGroups = [], resources = [], nonResourceURLs = [], resourceNames, verbs }) => {
    const names = resourceNames === undefined ? {} : { names: resourceNames };
    const what = [
      ...apiGroups.flatMap((group) => resources.map((resource) => `${group}/${resource}`)),
      ...nonResourceURLs.map((path) => `/${path}`),
    ];
    return what.flatMap((one) => verbs.map((verb) => ({ what: one, verb, ...names, ...where })));
  });
}

/** Returns everything that the manifests bind to an account, verb by verb; roles of the cluster itself are left out. Pure. */
export function grantsTo(manifests: readonly Manifest[], account: string): readonly Grant[] {
  const bindings = manifests.filter(
    ({ kind, subjects }) => kind.endsWith('RoleBinding') && subjects?.some((one) => one.kind === 'ServiceAccount' && one.name === account),
  );
  return bindings.flatMap((binding) => {
    const role = manifests.find(
      ({ kind, metadata }) =>
        kind === binding.roleRef?.kind &&
        metadata.name === binding.roleRef.name &&
        (kind === 'ClusterRole' || metadata.namespace === binding.metadata.namespace),
    );
    return flat(role?.rules ?? [], binding.kind === 'RoleBinding' ? binding.metadata.namespace : undefined);
  });
}
