import type { Lister } from '@agentfleet/kube';
import { apiVersion, poolGrant, type ExpertPool, type PoolGrant, type PoolRight } from '@agentfleet/protocol/api';

/** The settings of the cluster's administrator about pools that reach into other namespaces. */
export interface ReachConfig {
  /** Namespace of the operator: no pool of another one reaches into it. */
  readonly namespace: string;
  readonly platformNamespaces: readonly string[];
}

/** Basis on which a pool may act in a namespace: the namespace is its own, or grants it, or the cluster's administrator does. */
export type Consent = 'Own' | 'Grant' | 'Platform';

/** Rights that a pool lacks in a namespace. */
export interface MissingGrant {
  readonly namespace: string;
  readonly rights: readonly PoolRight[];
}

/** Finds what namespaces consent to. It reads the cache at each call. */
export class Consents {
  readonly #config: ReachConfig;
  readonly #grants: Lister<PoolGrant>;

  constructor(config: ReachConfig, grants: Lister<PoolGrant>) {
    this.#config = config;
    this.#grants = grants;
  }

  /** The consent to all of these rights; undefined: there is none. With no rights, a pool of another namespace has the author's. */
  to(pool: ExpertPool, namespace: string, rights: readonly PoolRight[]): Consent | undefined {
    const home = pool.metadata.namespace ?? '';
    if (home === namespace) return 'Own';
    if (this.isClosed(namespace)) return undefined;
    if (this.#lacking(pool, namespace, rights).length === 0) return 'Grant';
    return this.#config.platformNamespaces.includes(home) ? 'Platform' : undefined;
  }

  /** Lists the rights that are lacking of these; empty when the pool may, and where no grant would help. */
  missing(pool: ExpertPool, namespace: string, rights: readonly PoolRight[]): readonly PoolRight[] {
    if (this.isClosed(namespace) || this.to(pool, namespace, rights) !== undefined) return [];
    return this.#lacking(pool, namespace, rights);
  }

  /** Reports whether pools of other namespaces are kept out whatever is granted: of the cluster's own namespaces, and of the operator's. */
  isClosed(namespace: string): boolean {
    return namespace.startsWith('kube-') || namespace === this.#config.namespace;
  }

  /** Grants add up. */
  #lacking(pool: ExpertPool, namespace: string, rights: readonly PoolRight[]): readonly PoolRight[] {
    const given = new Set(this.#grants.list({ namespace }).flatMap((grant) => (names(grant, pool) ? grant.spec.allow : [])));
    return rights.filter((right) => !given.has(right));
  }
}

/** Reports whether a grant is one for the pool. */
export function names({ metadata, spec }: PoolGrant, pool: ExpertPool): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return spec.from.some(
    ({ namespace, name }) => namespace === pool.metadata.namespace && (name === undefined || name === pool.metadata.name),
  );
}

/** Lists the rights for what the template of a pool sets on sandboxes and a foreign namespace has to allow. */
export function templateRights({ spec }: ExpertPool): readonly PoolRight[] {
  const { podMetadata, priorityClassName, tolerations = [] } = spec.sandbox.template ?? {};
  const named = Object.keys({ ...podMetadata?.labels, ...podMetadata?.annotations }).length > 0;
  return [
    ...(named ? (['PodMetadata'] as const) : []),
    ...(priorityClassName === undefined ? [] : (['PriorityClass'] as const)),
    ...(tolerations.length === 0 ? [] : (['Tolerations'] as const)),
  ];
}

/** The object that would allow what is missing, as one line of YAML. */
export function grantSnippet(pool: ExpertPool, { namespace, rights }: MissingGrant): string {
  const { name, namespace: home = '' } = pool.metadata;
  const metadata = `{name: ${name}, namespace: ${namespace}}`;
  const spec = `{from: [{namespace: ${home}, name: ${name}}], allow: [${rights.join(', ')}]}`;
  return `{apiVersion: ${apiVersion}, kind: ${poolGrant.kind}, metadata: ${metadata}, spec: ${spec}}`;
}
