import type { ExpertPool } from '@agentfleet/protocol/api';
import { briefKey } from '@agentfleet/protocol/pool';
import { briefName } from '../../pools/names.ts';
import type { Caches } from '../../runtime/context.ts';
import type { ConfigMap } from '../../runtime/objects.ts';
import { jwksConfigMap } from './names.ts';

/** Tells whether the pool's controllers have made ready what sandboxes and workers need in a namespace. */
export class Preparations {
  readonly #configMaps: Caches['configMaps'];
  readonly #briefs = new WeakMap<ConfigMap, ReadonlySet<string>>();

  constructor({ configMaps }: Pick<Caches, 'configMaps'>) {
    this.#configMaps = configMaps;
  }

  has(pool: ExpertPool, namespace: string): boolean {
    return this.of(pool)(namespace);
  }

  /** Tells it of many namespaces at one moment. */
  of(pool: ExpertPool): (namespace: string) => boolean {
    const { lister } = this.#configMaps;
    const brief = lister.get(`${pool.metadata.namespace ?? ''}/${briefName(pool.metadata.name)}`);
    if (brief === undefined) return () => false;
    const known = this.#briefs.get(brief) ?? namespacesOf(brief);
    this.#briefs.set(brief, known);
    return (namespace) => known.has(namespace) && lister.get(`${namespace}/${jwksConfigMap}`) !== undefined;
  }
}

/** A brief that cannot be read names no namespace: its pool's controller will write it again. */
function namespacesOf({ data }: ConfigMap): ReadonlySet<string> {
  try {
    const { namespaces } = JSON.parse(data?.[briefKey] ?? '{}') as { readonly namespaces?: readonly string[] };
    return new Set(namespaces);
  } catch {
    return new Set();
  }
}
