// hack, rbac: comparison of an account's grants with its requests. May import any package.
import type { Asked, Asks } from './asks.ts';
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

/** Faults of an account's rules, each as a line. */
export interface Verdict {
  /** Asked for and not granted. */
  readonly refused: readonly string[];
  /** Granted and never asked for. */
  readonly unused: readonly string[];
  /** Granted in one namespace, although it is granted in all. */
  readonly twice: readonly string[];
}

/** Further authorizations that a request makes the API server check, which no audit log has. */
export interface Implied {
  /** The request: verb and resource, as in a Grant. */
  readonly verb: string;
  readonly what: string;
  readonly grants: readonly Grant[];
}

const inWords = ({ what, verb, names, namespace }: Grant): string =>
  `${verb} ${what}${names === undefined ? '' : ` [${names.join(', ')}]`}${namespace === undefined ? '' : ` in ${namespace}`}`;

const covers = (grant: Grant, asked: Pick<Asked, 'verb' | 'what' | 'name'>): boolean =>
  grant.verb === asked.verb && grant.what === asked.what && (grant.names === undefined || grant.names.includes(asked.name));

/** Holds the grants of one account against its asks. Pure. */
export function judge(grants: readonly Grant[], asks: Asks, implied: readonly Implied[] = []): Verdict {
  const allowed = asks.filter((asked) => asked.allowed);
  const besides = implied.filter(({ verb, what }) => allowed.some((asked) => asked.verb === verb && asked.what === what));
  // Watches begin with a list of their own where the server streams it, and with a plain list where it does not.
  const lists = allowed.filter(({ verb }) => verb === 'watch').map(({ what }) => ({ what, verb: 'list' }));
  const needed = [...besides.flatMap((one) => one.grants), ...lists];
  const isNeeded = (grant: Grant): boolean =>
    allowed.some((asked) => covers(grant, asked)) || needed.some((other) => other.verb === grant.verb && other.what === grant.what);
  const everywhere = grants.filter(({ namespace }) => namespace === undefined);
  const isTwice = (grant: Grant): boolean =>
    grant.namespace !== undefined &&
    everywhere.some(({ what, verb, names }) => what === grant.what && verb === grant.verb && names === undefined);
  // An API server that has just started refuses what rules of the whole cluster allow, until it has read them.
  const isRefused = (asked: Asked): boolean => !asked.allowed && !everywhere.some((grant) => covers(grant, asked));
  const refused = asks.filter(isRefused).map(({ verb, what, name }) => `${verb} ${what}${name === '' ? '' : ` ${name}`}`);
  return {
    refused: [...new Set(refused)].toSorted(),
    unused: grants
      .filter((grant) => !isNeeded(grant))
      .map(inWords)
      .toSorted(),
    twice: grants.filter(isTwice).map(inWords).toSorted(),
  };
}
