import { isNotFound, ResourceClient, type Consistency } from '@agentfleet/kube';
import { fieldManagers } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { imagesOf, MadeSandboxes, recordComponent, recordKeys, recordName } from '../../pools/made.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import type { ConfigMap, Pod } from '../../runtime/objects.ts';
import { resources } from '../../runtime/resources.ts';

/** Lines of sandboxes that wait no more which a record may have before it is written without them. */
const mostStale = 64;

/** Keeps the record of the sandboxes that were made ahead: one write for all that one look made. */
export class WarmRecords {
  readonly made: MadeSandboxes;
  readonly #context: OperatorContext;
  readonly #consistency: Consistency;
  readonly #maps: ResourceClient<ConfigMap>;
  /** Made by this process and not recorded yet: digests of images by uid, by the key of the pool. */
  readonly #fresh = new Map<string, Map<string, string>>();

  constructor(context: OperatorContext, consistency: Consistency) {
    this.#context = context;
    this.#consistency = consistency;
    this.#maps = new ResourceClient(context.transport, resources.configMaps);
    this.made = new MadeSandboxes(context.caches.configMaps, context.config.namespace);
  }

  /** Remembers a sandbox as the API server answered it. */
  add(pool: string, pod: Pod): void {
    const { uid } = pod.metadata;
    if (uid === undefined) return;
    const known = this.#fresh.get(pool) ?? new Map<string, string>();
    this.#fresh.set(pool, known.set(uid, imagesOf(pod)));
  }

  /** Whether the operator made this one for the pool. */
  has(pool: string, pod: Pod): boolean {
    return this.made.has(pool, pod) || this.#fresh.get(pool)?.get(pod.metadata.uid ?? '') === imagesOf(pod);
  }

  /** Writes what is not recorded yet; `waiting` are the sandboxes that no task has taken. Rejects when it has to be tried again. */
  async write(pool: string, waiting: readonly Pod[], signal: AbortSignal): Promise<void> {
    const fresh = this.#fresh.get(pool);
    const recorded = this.made.of(pool);
    const present = new Set(waiting.map(({ metadata }) => metadata.uid));
    const kept = [...recorded].filter(([uid]) => present.has(uid));
    if (fresh === undefined && recorded.size - kept.length <= mostStale) return;
    const all = new Map([...kept, ...(fresh ?? [])]);
    const name = recordName(pool);
    const { namespace } = this.#context.config;
    const data = {
      [recordKeys.pool]: pool,
      [recordKeys.sandboxes]: [...all].map(([uid, digest]) => `${uid} ${digest}`).join('\n'),
    };
    const metadata = { name, namespace, labels: { [labels.component]: recordComponent } };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
    const written = await this.#maps.apply(object, { fieldManager: fieldManagers.operator, force: true, signal });
    this.#consistency.wrote(pool, this.#context.caches.configMaps, written);
    for (const uid of fresh?.keys() ?? []) if (all.has(uid)) fresh?.delete(uid);
    if (fresh?.size === 0) this.#fresh.delete(pool);
  }

  /** Removes the record of a pool that is gone. */
  async remove(pool: string, signal: AbortSignal): Promise<void> {
    this.#fresh.delete(pool);
    const record = this.made.record(pool);
    if (record === undefined) return;
    try {
      await this.#maps.delete(record.metadata, { signal });
      this.#consistency.deleted(pool, this.#context.caches.configMaps, record);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
