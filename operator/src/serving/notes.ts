import { asError, events, ResourceClient, type Clock, type KubeEvent, type Log, type Transport } from '@agentfleet/kube';
import { TtlCache } from '../runtime/index.ts';
import type { Pod } from '../runtime/resources.ts';
import { isPreparing } from './podTrouble.ts';

/** Time for which an answer counts as current, ms. */
export const notePollMs = 10_000;

/** Most pods that are asked about for one pool: each costs a request, and all of a Deployment say the same. */
const mostAsked = 4;

/** A pod that prepares for less than this needs no explanation, ms. */
const usualWaitMs = 5_000;

/** The newest warning among events of one pod; undefined when there is none. Pure. */
export function newestWarning(found: readonly KubeEvent[]): string | undefined {
  const time = (event: KubeEvent): string => event.series?.lastObservedTime ?? event.eventTime ?? event.metadata.creationTimestamp ?? '';
  const [newest] = found.filter(({ type }) => type === 'Warning').sort((a, b) => (time(a) < time(b) ? 1 : -1));
  return newest === undefined ? undefined : `${newest.reason}: ${newest.note}`;
}

/**
 * Events of the kubelet about pods that it cannot start: a Secret that is missing stands in no status, only in Events.
 * They are asked for while a pod is being prepared for long, because a cache of all Events would be most of the memory.
 */
export class NoteReader {
  readonly #client: ResourceClient<KubeEvent>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #waitMs: number;
  readonly #known: TtlCache<string | undefined>;

  /** `waitMs`: a pod that prepares for less needs no explanation. */
  constructor(options: { readonly transport: Transport; readonly clock: Clock; readonly log: Log; readonly waitMs?: number }) {
    this.#client = new ResourceClient(options.transport, events);
    this.#clock = options.clock;
    this.#log = options.log;
    this.#waitMs = options.waitMs ?? usualWaitMs;
    this.#known = new TtlCache(options.clock, () => notePollMs);
  }

  /** Notes by the names of pods. Never rejects: without them the status only has less. */
  async read(pods: readonly Pod[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const waiting = pods.filter((pod) => isPreparing(pod) && this.#ageMs(pod) >= this.#waitMs);
    for (const pod of waiting.slice(0, mostAsked)) {
      const text = await this.#one(pod, signal);
      if (text !== undefined) found.set(pod.metadata.name, text);
    }
    return found;
  }

  #ageMs(pod: Pod): number {
    return this.#clock.now() - Date.parse(pod.status?.startTime ?? '');
  }

  async #one({ metadata }: Pod, signal: AbortSignal): Promise<string | undefined> {
    const { namespace = '', uid = '' } = metadata;
    const ask = { namespace, fieldSelector: `regarding.uid=${uid}`, signal };
    try {
      return await this.#known.of(uid, async () => newestWarning(await this.#client.list(ask)));
    } catch (error) {
      this.#log.warn('events of a pod were not read', { pod: `${namespace}/${metadata.name}`, error: asError(error).message });
      return undefined;
    }
  }
}
