import { createHash } from 'node:crypto';
import type { Lister } from '@agentfleet/kube';
import type { ConfigMap, Pod } from '../runtime/resources.ts';

/** Value of the label `component` of a record. */
export const recordComponent = 'warm-record';

/** Members of a record: whose it is, and a line `<uid> <digest of the images>` for each sandbox. */
export const recordKeys = { pool: 'pool', sandboxes: 'sandboxes' } as const;

/** Name of the ConfigMap that records the sandboxes made ahead for a pool (`namespace/name`). Pure. */
export function recordName(pool: string): string {
  return `agentfleet-warm-${createHash('sha256').update(pool).digest('hex').slice(0, 16)}`;
}

/** Returns a hash of the images of a pod's containers, 12 hexadecimal digits: images may still be changed after a pod was made. Pure. */
export function imagesOf({ spec }: Pod): string {
  const images = (spec?.containers ?? []).map(({ name, image }) => `${name}=${image ?? ''}`).sort();
  return createHash('sha256').update(images.join('\n')).digest('hex').slice(0, 12);
}

type Maps = { readonly lister: Lister<ConfigMap> };

/**
 * Record of the waiting sandboxes that the operator made itself. Labels, annotations and owners of a pod can be written by
 * all who may create pods beside it, its uid by none; so the uids are recorded where no tenant writes: in the namespace of
 * the operator. One that a crash kept out of the record belongs to no pool, and is replaced.
 */
export class MadeSandboxes {
  readonly #maps: Maps;
  readonly #namespace: string;
  readonly #read = new WeakMap<ConfigMap, ReadonlyMap<string, string>>();

  /** `namespace`: that of the operator. */
  constructor(maps: Maps, namespace: string) {
    this.#maps = maps;
    this.#namespace = namespace;
  }

  /** Reports whether the pod is one that was made for this pool (`namespace/name`), with the images that it still has. */
  has(pool: string, pod: Pod): boolean {
    const { uid } = pod.metadata;
    return uid !== undefined && this.of(pool).get(uid) === imagesOf(pod);
  }

  /** Digests of images by uid, as recorded. */
  of(pool: string): ReadonlyMap<string, string> {
    const map = this.record(pool);
    if (map === undefined) return new Map();
    const known = this.#read.get(map) ?? linesOf(map);
    this.#read.set(map, known);
    return known;
  }

  record(pool: string): ConfigMap | undefined {
    return this.#maps.lister.get(`${this.#namespace}/${recordName(pool)}`);
  }
}

function linesOf({ data }: ConfigMap): ReadonlyMap<string, string> {
  const lines = (data?.[recordKeys.sandboxes] ?? '').split('\n').map((line) => line.split(' '));
  return new Map(lines.flatMap(([uid, digest]) => (uid === undefined || digest === undefined ? [] : [[uid, digest] as const])));
}
