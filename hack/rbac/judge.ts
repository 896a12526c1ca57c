// hack, rbac: comparison of an account's grants with its requests. May import any package.
import type { Asked, Asks } from './asks.ts';
import type { Grant } from './grants.ts';

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
