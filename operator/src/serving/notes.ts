import { asError, events, ResourceClient, type Clock, type KubeEvent, type KubeObject, type Log, type Transport } from '@agentfleet/kube';
import { TtlCache } from '../runtime/index.ts';
import type { Job, Pod } from '../runtime/resources.ts';
import { isPreparing } from './podTrouble.ts';
import { unmadePods } from './rollout.ts';

/** Time for which an answer counts as current, ms. */
export const notePollMs = 10_000;

/** Most pods, and Jobs, that are asked about for one pool: each costs a request, and all of a Deployment say the same. */
const mostAsked = 4;

/** A pod that prepares for less than this needs no explanation, and a Job without a pod neither, ms. */
const usualWaitMs = 5_000;

/** The newest warning among events of one pod; undefined when there is none. Pure. */
export function newestWarning(found: readonly KubeEvent[]): string | undefined {
  const time = (event: KubeEvent): string => event.series?.lastObservedTime ?? event.eventTime ?? event.metadata.creationTimestamp ?? '';
  const [newest] = found.filter(({ type }) => type === 'Warning').sort((a, b) => (time(a) < time(b) ? 1 : -1));
  return newest === undefined ? undefined : `${newest.reason}: ${newest.note}`;
}

/** Reports whether a Job goes on and has no pod: a quota or an admission that lets none in stands in no status of it. Pure. */
export function isPodless({ status }: Job): boolean {
  const hasEnded = status?.conditions?.some(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True') === true;
  return !hasEnded && (status?.active ?? 0) === 0;
}

/** Returns the reason for which a Job has no pod, with the cure; undefined where none is known. Pure. */
export function podlessBecause(job: string, notes: ReadonlyMap<string, string>): string | undefined {
  const note = notes.get(job);
  return note === undefined ? undefined : unmadePods(note);
}

/**
 * Events about pods that the kubelet cannot start, and about Jobs whose pods nobody lets in: a Secret that is missing stands in no status,
 * only in Events. They are asked for while that goes on for long, because a cache of all Events would be most of the memory.
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

  /** Notes by the names of pods and Jobs. Never rejects: without them the status only has less. */
  async read(pods: readonly Pod[], signal: AbortSignal, jobs: readonly Job[] = []): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const preparing = pods.filter((pod) => isPreparing(pod) && this.#isLate(pod.status?.startTime));
    const podless = jobs.filter((job) => isPodless(job) && this.#isLate(job.metadata.creationTimestamp));
    for (const one of [...preparing.slice(0, mostAsked), ...podless.slice(0, mostAsked)]) {
      const text = await this.#one(one, signal);
      if (text !== undefined) found.set(one.metadata.name, text);
    }
    return found;
  }

  #isLate(since = ''): boolean {
    return this.#clock.now() - Date.parse(since) >= this.#waitMs;
  }

  async #one({ metadata }: KubeObject, signal: AbortSignal): Promise<string | undefined> {
    const { namespace = '', uid = '' } = metadata;
    const ask = { namespace, fieldSelector: `regarding.uid=${uid}`, signal };
    try {
      return await this.#known.of(uid, async () => newestWarning(await this.#client.list(ask)));
    } catch (error) {
      this.#log.warn('events of a pod or a Job were not read', { name: `${namespace}/${metadata.name}`, error: asError(error).message });
      return undefined;
    }
  }
}
