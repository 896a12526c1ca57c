import { inferenceErrors } from '@agentfleet/protocol/inference';

/** What gates read of the metrics of an engine. Counters grow; a field that no series tells is absent. */
export interface Series {
  readonly requests?: number;
  readonly failed?: number;
  /** Observations by the upper bound of their bucket, seconds; cumulative. */
  readonly buckets?: ReadonlyMap<number, number>;
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

/** Codes of our own engines by which it is not the engine that failed: the caller, or a pod that goes and says so. */
const notTheEngines: ReadonlySet<string> = new Set([
  ...Object.entries(inferenceErrors).flatMap(([code, { status }]) => (status < 500 ? [code] : [])),
  'AF_STOPPING',
]);

function sum(points: readonly Point[], name: string, holds: (point: Point) => boolean = () => true): number | undefined {
  const found = points.filter((point) => point.name === name);
  return found.length === 0 ? undefined : found.filter(holds).reduce((total, { value }) => total + value, 0);
}

function histogram(points: readonly Point[], name: string): ReadonlyMap<number, number> | undefined {
  const found = points.filter((point) => point.name === `${name}_bucket`);
  if (found.length === 0) return undefined;
  const buckets = new Map<number, number>();
  for (const { labels, value } of found) {
    const bound = labels.get('le') === '+Inf' ? Infinity : Number(labels.get('le'));
    buckets.set(bound, (buckets.get(bound) ?? 0) + value);
  }
  return buckets;
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
  return defined({ requests, failed, buckets, draftTokens, acceptedTokens });
}

function defined(fields: { readonly [K in keyof Series]-?: Series[K] | undefined }): Series {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function each(a: Series, b: Series, of: (a: number, b: number) => number): Series {
  const number = (x: number | undefined, y: number | undefined): number | undefined =>
    x === undefined && y === undefined ? undefined : of(x ?? 0, y ?? 0);
  const bounds = new Set([...(a.buckets?.keys() ?? []), ...(b.buckets?.keys() ?? [])]);
  const buckets = new Map([...bounds].map((bound) => [bound, of(a.buckets?.get(bound) ?? 0, b.buckets?.get(bound) ?? 0)]));
  return defined({
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

/** What was added since an earlier look; a counter that fell began again. Pure. */
export function since(now: Series, then: Series): Series {
  const restarted = (now.requests ?? 0) < (then.requests ?? 0);
  return restarted ? now : each(now, then, (x, y) => Math.max(0, x - y));
}
