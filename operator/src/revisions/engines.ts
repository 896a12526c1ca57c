import { asError, deadline, type Clock, type Log } from '@agentfleet/kube';
import type { ArmEvidence } from '../rollout/index.ts';
import type { Pod } from '../runtime/resources.ts';
import { boundedText, originOf, type BearerFor } from '../serving/index.ts';
import { addSeries, readMetrics, since, type Series } from './metrics.ts';
import type { RolloutPolicySpec } from '@agentfleet/protocol/api';

/** Asks a server for its metrics in the text format of Prometheus. Rejects when it does not answer with them. */
export type AskMetrics = (origin: string, signal: AbortSignal, namespace: string) => Promise<string>;

const timeLimitMs = 2_000;
const longestAnswer = 1_048_576;

/** Ms for which an answer is believed. */
const freshMs = 5_000;

/** Pods that are remembered. */
const mostKnown = 4_096;

/** Asks by HTTP. */
export function metricsByHttp(bearerFor: BearerFor): AskMetrics {
  return async (origin, signal, namespace) => {
    const authorization = await bearerFor(namespace);
    return boundedText({ url: `${origin}/metrics`, what: 'GET /metrics', most: longestAnswer, authorization }, signal);
  };
}

interface Known {
  readonly first: Series;
  last: Series;
  at: number;
}

/** Reads what the engines of a revision tell of their requests since a rollout began to look at them. */
export class EngineReader {
  readonly #ask: AskMetrics;
  readonly #clock: Clock;
  readonly #log: Log;
  /** By rollout and uid of the pod. */
  readonly #known = new Map<string, Known>();

  constructor(options: { readonly ask: AskMetrics; readonly clock: Clock; readonly log: Log }) {
    this.#ask = options.ask;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Sums over the pods; what a pod does not tell is missing. Takes two seconds at most and never rejects. */
  async read(rollout: string, pods: readonly Pod[], signal: AbortSignal): Promise<Series> {
    const reported = await Promise.all(pods.map((pod) => this.#one(rollout, pod, signal)));
    return reported.filter((series) => series !== undefined).reduce<Series>(addSeries, {});
  }

  async #one(rollout: string, pod: Pod, signal: AbortSignal): Promise<Series | undefined> {
    const origin = originOf(pod);
    const { uid } = pod.metadata;
    if (origin === undefined || uid === undefined) return undefined;
    const key = `${rollout} ${uid}`;
    const known = this.#known.get(key);
    const now = this.#clock.monotonic();
    if (known !== undefined && now - known.at < freshMs) return since(known.last, known.first);
    const limit = deadline(this.#clock, timeLimitMs, signal);
    try {
      const last = readMetrics(await this.#ask(origin, limit.signal, pod.metadata.namespace ?? ''));
      const next: Known = { first: known?.first ?? last, last, at: now };
      this.#keep(key, next);
      return since(next.last, next.first);
    } catch (error) {
      this.#log.warn('a server did not tell its metrics', { pod: pod.metadata.name, origin, error: asError(error).message });
      return undefined;
    } finally {
      limit.dispose();
    }
  }

  #keep(key: string, known: Known): void {
    this.#known.delete(key);
    this.#known.set(key, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostKnown && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** Times that stand for a histogram: as many as it has observations, a thousand at most, each the upper end of its bucket. */
function latenciesOf({ buckets }: Series): readonly number[] {
  if (buckets === undefined) return [];
  const sorted = [...buckets].sort(([a], [b]) => a - b);
  const total = sorted.at(-1)?.[1] ?? 0;
  const share = Math.min(1, 1000 / Math.max(1, total));
  const times: number[] = [];
  for (const [bound, count] of sorted) while (times.length < Math.round(count * share)) times.push(bound);
  return times;
}

/** What the engines of one arm tell, as gates read it; what they do not tell is left out. Pure. */
export function engineEvidence(series: Series | undefined): Pick<ArmEvidence, 'requests' | 'latencies' | 'draft'> {
  const { requests, failed = 0, draftTokens, acceptedTokens } = series ?? {};
  return {
    requests: requests === undefined ? { failed: 0, total: 0 } : { failed, total: requests },
    latencies: series === undefined ? [] : latenciesOf(series),
    ...(draftTokens === undefined || acceptedTokens === undefined ? {} : { draft: { accepted: acceptedTokens, proposed: draftTokens } }),
  };
}

type Window = NonNullable<RolloutPolicySpec['promotion']['windows']>[number];

const weekMinutes = 7 * 24 * 60;
const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;

/** Seconds since Monday 00:00 UTC. */
function secondOfWeek(now: number): number {
  const date = new Date(now);
  const day = (date.getUTCDay() + 6) % 7;
  return ((day * 24 + date.getUTCHours()) * 60 + date.getUTCMinutes()) * 60 + date.getUTCSeconds();
}

function covers(window: Window, second: number): boolean {
  const [hours = 0, minutes = 0] = window.start.split(':').map(Number);
  return window.days.some((day) => {
    const begin = ((days.indexOf(day) * 24 + hours) * 60 + minutes) * 60;
    const since = (second - begin + weekMinutes * 60) % (weekMinutes * 60);
    return since < window.seconds;
  });
}

/** Whether promotions may happen at this moment; without windows they always may. Pure. `now` is wall time in ms. */
export function isWindowOpen(windows: readonly Window[] | undefined, now: number): boolean {
  return windows === undefined || windows.some((window) => covers(window, secondOfWeek(now)));
}
