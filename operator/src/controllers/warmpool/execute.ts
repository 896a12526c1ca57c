import { asError, isApiError, isConflict, isNotFound, ResourceClient, type Consistency } from '@agentfleet/kube';
import type { OperatorContext } from '../../runtime/context.ts';
import type { Pod } from '../../runtime/objects.ts';
import { resources } from '../../runtime/resources.ts';
import { warmPod, type WarmSource } from '../agenttask/warmTemplate.ts';
import type { WarmAction } from './decide.ts';
import type { WarmRecords } from './record.ts';

export interface WarmExecutorOptions {
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
    source: WarmSource | undefined,
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

  /** When this process made which of these sandboxes; the others of the pool are forgotten. */
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
    source: WarmSource,
    { namespace, count }: Extract<WarmAction, { type: 'create' }>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { consistency, context, records } = this.#options;
    for (let made = 0; made < count; made += 1) {
      try {
        const pod = await this.#pods.create(warmPod(source, namespace), { fieldManager: 'agentfleet-operator', signal });
        consistency.wrote(key, context.caches.pods, pod);
        this.#remember(key, pod);
        records.add(key, pod);
      } catch (error) {
        if (isApiError(error) && [400, 403, 404, 422].includes(error.code)) return asError(error).message;
        throw error;
      }
    }
    return undefined;
  }

  /** Only this version of it: a task may have taken it since. */
  async #delete(key: string, pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid, resourceVersion } = pod.metadata;
    const { consistency, context } = this.#options;
    try {
      await this.#pods.delete(pod.metadata, {
        signal,
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      });
      consistency.deleted(key, context.caches.pods, pod);
    } catch (error) {
      // Its next version wakes the pool when there is still something to decide.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
