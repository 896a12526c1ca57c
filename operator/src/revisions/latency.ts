import { asError, deadline, type Clock, type Log } from '@agentfleet/kube';
import type { ExpertPoolStatus } from '@agentfleet/protocol/api';
import { gatewayPort } from '@agentfleet/protocol/gateway';
import { labels } from '@agentfleet/protocol/pool';
import { keepNewest } from '../runtime/index.ts';
import type { Pod } from '../runtime/resources.ts';
import { isReady, originOf } from '../serving/index.ts';
import { countOf, lastBound, valueAt } from '../rollout/index.ts';
import { addSeries, type AskMetrics, type Buckets, gatewayResults, gatewayTimes, type LastResult, readMetrics } from './engines.ts';

/** Time between two looks at a pod, and how far back answers count, ms. */
export const lookMs = 30_000;
const windowMs = 300_000;

const timeLimitMs = 2_000;
/** Of one expert, or of a gateway: what a Service spreads is alike in all of its pods. */
const mostAsked = 4;
const mostKnown = 4_096;

export type Latency = NonNullable<NonNullable<NonNullable<ExpertPoolStatus['experts']>[number]>['latency']>;

/** Counts of a pod at one moment, by expert. */
interface Look {
  readonly at: number;
  readonly times: ReadonlyMap<string, Buckets>;
  /** Of a gateway: the newest result of each model. */
  readonly results?: ReadonlyMap<string, LastResult>;
}

/** Results by which a person has to mend the key, the name or the endpoint of a model. */
export const modelFaults = ['CredentialMissing', 'CredentialRefused', 'ModelNotAtProvider', 'ProviderUnreachable'] as const;
export type ModelFault = (typeof modelFaults)[number];

const faultOf = ([result]: LastResult): ModelFault | undefined => modelFaults.find((fault) => fault === result);

const componentOf = ({ metadata }: Pod): string | undefined => metadata.labels?.[labels.component];
const expertOf = ({ metadata }: Pod): string => metadata.labels?.[labels.expert] ?? '';

function sumOf(all: readonly ReadonlyMap<string, Buckets>[]): Map<string, Buckets> {
  const sums = new Map<string, Buckets>();
  for (const [expert, buckets] of all.flatMap((one) => [...one]))
    sums.set(expert, addSeries({ buckets }, { buckets: sums.get(expert) ?? new Map() }).buckets ?? new Map());
  return sums;
}

interface LatencyOptions {
  readonly expert: AskMetrics;
  readonly gateway: AskMetrics;
  readonly clock: Clock;
  readonly log: Log;
}

/** Reader of the times that experts took to answer in the last minutes, by the histograms of the pods that serve them. */
export class LatencyReader {
  readonly #options: LatencyOptions;
  /** By uid of the pod, the longest unused first; the oldest look first. */
  readonly #known = new Map<string, readonly Look[]>();

  constructor(options: LatencyOptions) {
    this.#options = options;
  }

  /**
   * By names of experts; those without requests are missing. Undefined: no task runs, and none asked for a while. Takes two seconds
   * at most and never rejects.
   */
  async read(pods: readonly Pod[], running: boolean, signal: AbortSignal): Promise<ReadonlyMap<string, Latency> | undefined> {
    const ready = pods.filter(isReady);
    if (!running && !ready.some((pod) => this.#isBusy(pod))) return undefined;
    const gateways = ready.filter((pod) => componentOf(pod) === 'gateway').slice(0, mostAsked);
    const byExpert = Map.groupBy(
      ready.filter((pod) => componentOf(pod) === 'expert'),
      expertOf,
    );
    const read = (those: readonly Pod[]): Promise<readonly Look['times'][]> => Promise.all(those.map((pod) => this.#one(pod, signal)));
    const [asked, behind] = await Promise.all([read([...byExpert.values()].flatMap((alike) => alike.slice(0, mostAsked))), read(gateways)]);
    // A chat model on a GPU has pods too; who asks it waits for the gateway.
    const times = new Map([...sumOf(asked), ...sumOf(behind)]);
    return new Map([...times].flatMap(([expert, buckets]) => [latencyOf(buckets)].flatMap((found) => (found ? [[expert, found]] : []))));
  }

  #looksAt(uid = ''): readonly Look[] {
    const now = this.#options.clock.monotonic();
    return (this.#known.get(uid) ?? []).filter(({ at }) => now - at <= windowMs);
  }

  /**
   * Faults by which the newest requests to models failed, as of the last {@link read}, by the names of their experts; null: by none. A
   * model that is missing was not asked since its gateway started, or the gateway gave no answer.
   */
  faults(gateways: readonly Pod[]): ReadonlyMap<string, ModelFault | null> {
    const all = gateways.filter(isReady).flatMap(({ metadata }) => [...(this.#looksAt(metadata.uid).at(-1)?.results ?? [])]);
    const newest = new Map(all.sort(([, [, a]], [, [, b]]) => a - b));
    return new Map([...newest].map(([name, last]) => [name, faultOf(last) ?? null]));
  }

  /** Reports whether a pod answered within the window, as far as is known, or knows of a fault that may be over; of a new gateway nothing is known. */
  #isBusy(pod: Pod): boolean {
    const { uid = '' } = pod.metadata;
    if (componentOf(pod) === 'gateway' && !this.#known.has(uid)) return true;
    const looks = this.#looksAt(uid);
    if ([...(looks.at(-1)?.results?.values() ?? [])].some((last) => faultOf(last) !== undefined)) return true;
    return looks.length === 1 || [...answered(looks).values()].some((buckets) => countOf(buckets) > 0);
  }

  /** Returns the times of the answers of a pod within the window. The first look at it counts nothing: its age is unknown. */
  async #one(pod: Pod, signal: AbortSignal): Promise<ReadonlyMap<string, Buckets>> {
    const { uid } = pod.metadata;
    const now = this.#options.clock.monotonic();
    const isGateway = componentOf(pod) === 'gateway';
    const origin = originOf(pod, isGateway ? gatewayPort : undefined);
    if (uid === undefined || origin === undefined) return new Map();
    let looks = this.#looksAt(uid);
    const last = looks.at(-1);
    if (last === undefined || now - last.at >= lookMs) {
      const found = await this.#ask(pod, origin, isGateway, signal);
      // One that gives no answer is asked again with the next look; until then it is as it was.
      looks = [...looks, { ...(found ?? last ?? { times: new Map() }), at: now }];
    }
    keepNewest(this.#known, uid, looks, mostKnown);
    return answered(looks);
  }

  async #ask(pod: Pod, origin: string, isGateway: boolean, signal: AbortSignal): Promise<Omit<Look, 'at'> | undefined> {
    const { name, namespace = '' } = pod.metadata;
    using limit = deadline(this.#options.clock, timeLimitMs, signal);
    try {
      const text = await this.#options[isGateway ? 'gateway' : 'expert'](origin, limit.signal, namespace);
      if (isGateway) return { times: gatewayTimes(text), results: gatewayResults(text) };
      const { buckets } = readMetrics(text);
      return { times: new Map(buckets === undefined ? [] : [[expertOf(pod), buckets]]) };
    } catch (error) {
      this.#options.log.warn('a server did not report how long it takes', { pod: name, origin, error: asError(error).message });
      return undefined;
    }
  }
}

/** Returns the answers that came between the oldest look and the newest. */
function answered(looks: readonly Look[]): ReadonlyMap<string, Buckets> {
  const [first, newest] = [looks[0], looks.at(-1)];
  if (first === newest) return new Map();
  return new Map([...(newest?.times ?? [])].map(([expert, buckets]) => [expert, added(buckets, first?.times.get(expert))]));
}

/** Returns the answers since an earlier look; of an expert that was not there, all; after counts that fell, all since they began again. */
function added(now: Buckets, then: Buckets | undefined): Buckets {
  if (then === undefined || countOf(now) < countOf(then)) return now;
  return new Map([...now].map(([bound, count]) => [bound, Math.max(0, count - (then.get(bound) ?? 0))]));
}

/** Two digits: figures of buckets are no better, and a status that never stays the same is written all the time. */
const rounded = (ms: number): number => Math.max(1, Math.round(Number(ms.toPrecision(2))));

/** Times that half and 95 % of the answers did not exceed; undefined without answers. Pure. */
export function latencyOf(buckets: Buckets): Latency | undefined {
  const total = countOf(buckets);
  if (total === 0) return undefined;
  return { p50Ms: rounded(1000 * secondsAt(buckets, total / 2)), p95Ms: rounded(1000 * secondsAt(buckets, total * 0.95)) };
}

/** Returns the value at a rank, seconds. One that is beyond all bounds counts as the last of them. */
function secondsAt(buckets: Buckets, rank: number): number {
  return Math.min(valueAt(buckets, rank), lastBound(buckets));
}
