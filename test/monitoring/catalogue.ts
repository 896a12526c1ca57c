import { registries, type MetricType, type Registered } from '../../hack/generate/registries.ts';
import { dcgmMetrics, vllmMetrics } from './vllm.ts';

/** A series that Prometheus may hold, by its metric. */
export interface KnownSeries {
  readonly type: MetricType;
  readonly labels: ReadonlySet<string>;
}

/** Labels that a scrape adds to all series. */
export const scraped = ['job', 'instance', 'namespace', 'pod', 'container', 'endpoint'];
/** Labels that the PodMonitor of pools adds. */
export const relabelled = ['pool', 'model', 'expert', 'revision'] as const;

function entries(
  { name, type, labelNames = [] }: Omit<Registered, 'help'>,
  more: readonly string[],
): readonly (readonly [string, KnownSeries])[] {
  const labels = new Set([...labelNames, ...scraped, ...more]);
  if (type !== 'histogram') return [[name, { type, labels }]];
  return [
    [`${name}_bucket`, { type, labels: new Set([...labels, 'le']) }],
    [`${name}_sum`, { type: 'counter', labels }],
    [`${name}_count`, { type: 'counter', labels }],
  ];
}

/** Returns all series that our processes export, from their own registries, and listed ones of others. */
export function catalogue(): ReadonlyMap<string, KnownSeries> {
  const { operator, ...pods } = registries();
  const ours = [
    ...operator.flatMap((metric) => entries(metric, [])),
    ...Object.values(pods).flatMap((metrics) => metrics.flatMap((metric) => entries(metric, relabelled))),
  ];
  const engines = Object.entries(vllmMetrics).flatMap(([name, { type, labels = [] }]) =>
    entries({ name, type, labelNames: [...labels, 'model_name', 'engine'] }, relabelled),
  );
  const gauges = dcgmMetrics.flatMap((name) => entries({ name, type: 'gauge', labelNames: ['Hostname', 'gpu', 'UUID'] }, []));
  const up = entries({ name: 'up', type: 'gauge' }, relabelled);
  return new Map([...ours, ...engines, ...gauges, ...up]);
}
