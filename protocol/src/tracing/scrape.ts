// Not in index.ts: what only traces needs no registry of metrics.
import { Registry, type Histogram, type Metric, type OpenMetricsContentType } from 'prom-client';
import { sampledTrace } from './scope.ts';

/** An answer to a scrape. */
export interface Scrape {
  readonly type: string;
  readonly text: string;
}

/** Metric that a registry holds, as its own renderer reads it. */
interface Held {
  readonly name: string;
  readonly type: string;
  get(): Promise<{ readonly name: string; readonly values: readonly { readonly metricName?: string }[] }>;
}

/**
 * A registry as a scrape with this Accept wants it: in OpenMetrics where that is asked for, as exemplars are known to it alone, else in the
 * text of Prometheus. The registry itself stays one of Prometheus: prom-client renames the counters of one of OpenMetrics.
 */
export async function scrape(registry: Registry, accept: string | undefined): Promise<Scrape> {
  if (!/\bapplication\/openmetrics-text\b/.test(accept ?? '')) return { type: registry.contentType, text: await registry.metrics() };
  const open = new Registry<OpenMetricsContentType>();
  open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of registry.getMetricsAsArray() as unknown as readonly Held[]) open.registerMetric(inOpenMetrics(metric));
  return { type: open.contentType, text: await open.metrics() };
}

/** The metric under the name that it has there: the suffix of counters is that of their samples, and none of their names. */
function inOpenMetrics(metric: Held): Metric {
  const name = metric.type === 'counter' ? metric.name.replace(/_total$/, '') : metric.name;
  return { name, type: metric.type, get: async () => ({ ...(await metric.get()), name }) } as unknown as Metric;
}

/** Takes a value that was measured now; where what runs is in a sampled trace, that is its exemplar. For histograms with `enableExemplars`. */
export function observe<T extends string>(histogram: Histogram<T>, labels: Readonly<Partial<Record<T, string>>>, value: number): void {
  const trace_id = sampledTrace();
  histogram.observe({ labels, value, ...(trace_id !== undefined && { exemplarLabels: { trace_id } }) } as never);
}

/** Adds a histogram with exemplars to a registry of Prometheus, which prom-client would refuse while it is made. */
export function withExemplars<T extends string>(registry: Registry, histogram: Histogram<T>): Histogram<T> {
  registry.registerMetric(histogram);
  return histogram;
}
