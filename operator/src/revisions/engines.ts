import { asError, deadline } from '@agentfleet/kube';
import type { ArmEvidence, Cumulative } from '../rollout/index.ts';
import { TtlCache } from '../runtime/index.ts';
import type { Pod } from '../runtime/resources.ts';
import { boundedText, originOf, type BearerFor, type ReaderOptions } from '../serving/index.ts';
import type { RolloutPolicySpec } from '@agentfleet/protocol/api';
import { inferenceErrors } from '@agentfleet/protocol/inference';
import { defined } from './report.ts';

/** Asks a server for its metrics in the text format of Prometheus. Rejects when it does not answer with them. */
export type AskMetrics = (origin: string, signal: AbortSignal, namespace: string) => Promise<string>;

const timeLimitMs = 2_000;
const longestAnswer = 1_048_576;

/** Time for which an answer counts as current, ms. */
const freshMs = 5_000;

/** Asks by HTTP. */
export function metricsByHttp(bearerFor: BearerFor): AskMetrics {
  return async (origin, signal, namespace) => {
    const authorization = await bearerFor(namespace);
    return boundedText({ url: `${origin}/metrics`, what: 'GET /metrics', most: longestAnswer, authorization }, signal);
  };
}

/** The first look at a pod and the last one. */
interface Looks {
  readonly first: Series;
  readonly last: Series;
}

/** Reads what the engines of a revision report of their requests since a rollout began to look at them. */
export class EngineReader {
  readonly #options: ReaderOptions<AskMetrics>;
  /** By rollout and uid of the pod. */
  readonly #known: TtlCache<Looks>;

  constructor(options: ReaderOptions<AskMetrics>) {
    this.#options = options;
    this.#known = new TtlCache(options.clock, () => freshMs);
  }

  /** Sums over the pods; what a pod does not report is missing. Takes two seconds at most and never rejects. */
  async read(rollout: string, pods: readonly Pod[], signal: AbortSignal): Promise<Series> {
    const series = await Promise.all(pods.map((pod) => this.#one(rollout, pod, signal)));
    return series.filter((series) => series !== undefined).reduce<Series>(addSeries, {});
  }

  async #one(rollout: string, pod: Pod, signal: AbortSignal): Promise<Series | undefined> {
    const origin = originOf(pod);
    const { uid } = pod.metadata;
    if (origin === undefined || uid === undefined) return undefined;
    const { ask, clock, log } = this.#options;
    using limit = deadline(clock, timeLimitMs, signal);
    try {
      const { first, last } = await this.#known.of(`${rollout} ${uid}`, async (before) => {
        const now = readMetrics(await ask(origin, limit.signal, pod.metadata.namespace ?? ''));
        return { first: before?.first ?? now, last: now };
      });
      return since(last, first);
    } catch (error) {
      log.warn('a server did not tell its metrics', { pod: pod.metadata.name, origin, error: asError(error).message });
      return undefined;
    }
  }
}

/** Returns the evidence that the engines of one arm report, as gates read it; what they do not report is left out. Pure. */
export function engineEvidence(series: Series | undefined): Pick<ArmEvidence, 'requests' | 'latencies' | 'draft'> {
  const { requests, failed = 0, draftTokens, acceptedTokens } = series ?? {};
  return {
    requests: requests === undefined ? { failed: 0, total: 0 } : { failed, total: requests },
    latencies: series?.buckets ?? new Map(),
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

/** Reports whether promotions may happen at this moment; without windows they always may. Pure. `now` is wall time in ms. */
export function isWindowOpen(windows: readonly Window[] | undefined, now: number): boolean {
  return windows === undefined || windows.some((window) => covers(window, secondOfWeek(now)));
}

/** Observations of a histogram by the upper bound of their bucket, seconds; cumulative. */
export type Buckets = Cumulative;

/** Figures that gates read of the metrics of an engine. Counters grow; a field without a series is absent. */
export interface Series {
  readonly requests?: number;
  readonly failed?: number;
  readonly buckets?: Buckets;
  readonly draftTokens?: number;
  readonly acceptedTokens?: number;
}

interface Point {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const line = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([^}]*)\})?\s+(\S+)/;

const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

function pointsOf(text: string): readonly Point[] {
  return text.split('\n').flatMap((row): readonly Point[] => {
    const found = row.startsWith('#') ? null : line.exec(row);
    if (found === null) return [];
    const [, name = '', labels = '', value = ''] = found;
    const pairs = [...labels.matchAll(label)].map(([, key = '', text = '']) => [key, text] as const);
    const number = value === '+Inf' ? Infinity : Number(value);
    return Number.isNaN(number) ? [] : [{ name, labels: new Map(pairs), value: number }];
  });
}

/** Codes of our own engines by which it is not the engine that failed: the caller, or a pod that announced its end. */
const notTheEngines: ReadonlySet<string> = new Set([
  ...Object.entries(inferenceErrors).flatMap(([code, { status }]) => (status < 500 ? [code] : [])),
  'AF_STOPPING',
]);

function sum(points: readonly Point[], name: string, holds: (point: Point) => boolean = () => true): number | undefined {
  const found = points.filter((point) => point.name === name);
  return found.length === 0 ? undefined : found.filter(holds).reduce((total, { value }) => total + value, 0);
}

function histogram(points: readonly Point[], name: string): Buckets | undefined {
  const found = points.filter((point) => point.name === `${name}_bucket`);
  if (found.length === 0) return undefined;
  const buckets = new Map<number, number>();
  for (const { labels, value } of found) {
    const bound = labels.get('le') === '+Inf' ? Infinity : Number(labels.get('le'));
    buckets.set(bound, (buckets.get(bound) ?? 0) + value);
  }
  return buckets;
}

/** Returns the times that a gateway took to answer, by its models. Pure. */
export function gatewayTimes(text: string): ReadonlyMap<string, Buckets> {
  const name = 'agentfleet_gateway_request_seconds';
  const byModel = Map.groupBy(pointsOf(text), ({ labels }) => labels.get('model') ?? '');
  return new Map([...byModel].flatMap(([model, points]) => [histogram(points, name)].flatMap((found) => (found ? [[model, found]] : []))));
}

/** The newest result of requests to a model, and when that was, Unix seconds. */
export type LastResult = readonly [result: string, at: number];

/** Returns the newest result of requests to each model of a gateway. Pure. */
export function gatewayResults(text: string): ReadonlyMap<string, LastResult> {
  const newest = new Map<string, LastResult>();
  for (const { name, labels, value: at } of pointsOf(text)) {
    const model = labels.get('model') ?? '';
    if (name !== 'agentfleet_gateway_last_answer_timestamp_seconds' || at < (newest.get(model)?.[1] ?? 0)) continue;
    newest.set(model, [labels.get('result') ?? '', at]);
  }
  return newest;
}

/** Reads the metrics of our own engines, and those of vLLM. Pure. */
export function readMetrics(text: string): Series {
  const points = pointsOf(text);
  const own = sum(points, 'agentfleet_inference_requests_total', ({ labels }) => !notTheEngines.has(labels.get('code') ?? ''));
  const bad = ({ labels }: Point): boolean => labels.get('code') !== 'ok' && !notTheEngines.has(labels.get('code') ?? '');
  const served = sum(points, 'vllm:request_success_total');
  const aborted = sum(points, 'vllm:request_success_total', ({ labels }) => labels.get('finished_reason') === 'error');
  const requests = own ?? served;
  const failed = own === undefined ? aborted : sum(points, 'agentfleet_inference_requests_total', bad);
  const buckets = histogram(points, 'agentfleet_inference_request_seconds') ?? histogram(points, 'vllm:e2e_request_latency_seconds');
  const draftTokens = sum(points, 'vllm:spec_decode_num_draft_tokens_total');
  const acceptedTokens = sum(points, 'vllm:spec_decode_num_accepted_tokens_total');
  return defined<Series>({ requests, failed, buckets, draftTokens, acceptedTokens });
}

function each(a: Series, b: Series, of: (a: number, b: number) => number): Series {
  const number = (x: number | undefined, y: number | undefined): number | undefined =>
    x === undefined && y === undefined ? undefined : of(x ?? 0, y ?? 0);
  const bounds = new Set([...(a.buckets?.keys() ?? []), ...(b.buckets?.keys() ?? [])]);
  const buckets = new Map([...bounds].map((bound) => [bound, of(a.buckets?.get(bound) ?? 0, b.buckets?.get(bound) ?? 0)]));
  return defined<Series>({
    requests: number(a.requests, b.requests),
    failed: number(a.failed, b.failed),
    buckets: bounds.size === 0 ? undefined : buckets,
    draftTokens: number(a.draftTokens, b.draftTokens),
    acceptedTokens: number(a.acceptedTokens, b.acceptedTokens),
  });
}

/** Sum over two pods. Pure. */
export function addSeries(a: Series, b: Series): Series {
  return each(a, b, (x, y) => x + y);
}

/** Returns the increase since an earlier look; a counter that fell began again. Pure. */
export function since(now: Series, then: Series): Series {
  const restarted = (now.requests ?? 0) < (then.requests ?? 0);
  return restarted ? now : each(now, then, (x, y) => Math.max(0, x - y));
}
