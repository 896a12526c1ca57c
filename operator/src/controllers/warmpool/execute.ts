import { isRefused, isWebhookFailure, ResourceClient, type Consistency } from '@agentfleet/kube';
import { fieldManagers } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { imagesOf, MadeSandboxes, recordComponent, recordKeys, recordName } from '../../pools/made.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import { type ConfigMap, type Pod, resources } from '../../runtime/resources.ts';
import { warmPod, type TemplateSource } from '../agenttask/sandbox/template.ts';
import type { WarmAction } from './decide.ts';

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

  /** Reports whether the operator made this one for the pool. */
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
    const written = await this.#maps.apply({ metadata, data }, { fieldManager: fieldManagers.operator, signal });
    this.#consistency.wrote(pool, this.#context.caches.configMaps, written);
    for (const uid of fresh?.keys() ?? []) if (all.has(uid)) fresh?.delete(uid);
    if (fresh?.size === 0) this.#fresh.delete(pool);
  }

  /** Removes the record of a pool that is gone. */
  async remove(pool: string, signal: AbortSignal): Promise<void> {
    this.#fresh.delete(pool);
    const record = this.made.record(pool);
    if (record === undefined) return;
    if (await this.#maps.remove(record, { signal })) this.#consistency.deleted(pool, this.#context.caches.configMaps, record);
  }
}

interface WarmExecutorOptions {
  readonly context: OperatorContext;
  readonly consistency: Consistency;
  readonly records: Pick<WarmRecords, 'add'>;
}

/** Makes and deletes waiting sandboxes. */
export class WarmExecutor {
  readonly #options: WarmExecutorOptions;
  readonly #pods: ResourceClient<Pod>;
  /** By the key of the pool, then by uid: wall ms. */
  readonly #madeAt = new Map<string, Map<string, number>>();

  constructor(options: WarmExecutorOptions) {
    this.#options = options;
    this.#pods = new ResourceClient(options.context.transport, resources.pods);
  }

  /**
   * Does what was decided about the pool of this key. Returns why the API server makes no sandbox, by namespace; rejects
   * when it has to be tried again. `source` is undefined when the pool is gone: nothing is made then.
   */
  async run(
    key: string,
    actions: readonly WarmAction[],
    source: TemplateSource | undefined,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const refusals = new Map<string, string>();
    for (const action of actions) {
      if (action.type === 'delete') await this.#delete(key, action.pod, signal);
      else if (source !== undefined) {
        const refusal = await this.#create(key, source, action, signal);
        if (refusal !== undefined) refusals.set(action.namespace, refusal);
      }
    }
    return refusals;
  }

  /** Returns the times at which this process made these sandboxes; the others of the pool are forgotten. */
  madeAt(key: string, present: readonly Pod[]): ReadonlyMap<string, number> {
    const known = this.#madeAt.get(key);
    if (known === undefined) return new Map();
    const uids = new Set(present.map(({ metadata }) => metadata.uid));
    for (const uid of known.keys()) if (!uids.has(uid)) known.delete(uid);
    if (known.size === 0) this.#madeAt.delete(key);
    return known;
  }

  #remember(key: string, { metadata: { uid } }: Pod): void {
    const known = this.#madeAt.get(key) ?? new Map<string, number>();
    if (uid !== undefined) this.#madeAt.set(key, known.set(uid, this.#options.context.clock.now()));
  }

  async #create(
    key: string,
    source: TemplateSource,
    { namespace, count }: Extract<WarmAction, { type: 'create' }>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { consistency, context, records } = this.#options;
    for (let made = 0; made < count; made += 1) {
      try {
        const pod = await this.#pods.create(warmPod(source, namespace), { fieldManager: fieldManagers.operator, signal });
        consistency.wrote(key, context.caches.pods, pod);
        this.#remember(key, pod);
        records.add(key, pod);
      } catch (error) {
        if (isRefused(error) || isWebhookFailure(error)) return error.message;
        throw error;
      }
    }
    return undefined;
  }

  /** Only this version of it: a task may have taken it since. */
  async #delete(key: string, pod: Pod, signal: AbortSignal): Promise<void> {
    const { resourceVersion } = pod.metadata;
    const { consistency, context } = this.#options;
    const deleted = await this.#pods.remove(pod, { signal, ...(resourceVersion === undefined ? {} : { resourceVersion }) });
    // Else its next version wakes the pool when there is still something to decide.
    if (deleted) consistency.deleted(key, context.caches.pods, pod);
  }
}
