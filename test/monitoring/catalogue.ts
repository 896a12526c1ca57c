import { createTransport, silentLog, systemClock } from '@agentfleet/kube';
import { Registry } from 'prom-client';
import { createMetrics } from '../../agent-image/src/http/metrics.ts';
import { InferenceMetrics } from '../../inference-image/src/base/metrics.ts';
import { readConfig } from '../../operator/src/config.ts';
import { registerProcessMetrics } from '../../operator/src/metrics/eventLoop.ts';
import { createOperator } from '../../operator/src/start.ts';
import { dcgmMetrics, vllmMetrics } from './vllm.ts';

export type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary';

/** A series that Prometheus may hold, by what its metric is. */
export interface KnownSeries {
  readonly type: MetricType;
  readonly labels: ReadonlySet<string>;
}

/** What a scrape adds to all series. */
const scraped = ['job', 'instance', 'namespace', 'pod', 'container', 'endpoint'];
/** What the PodMonitor of pools adds. */
export const relabelled = ['pool', 'model', 'expert', 'revision'] as const;

interface Registered {
  readonly name: string;
  readonly type: MetricType;
  readonly labelNames?: readonly string[];
}

function entries({ name, type, labelNames = [] }: Registered, more: readonly string[]): readonly (readonly [string, KnownSeries])[] {
  const labels = new Set([...labelNames, ...scraped, ...more]);
  if (type !== 'histogram') return [[name, { type, labels }]];
  return [
    [`${name}_bucket`, { type, labels: new Set([...labels, 'le']) }],
    [`${name}_sum`, { type: 'counter', labels }],
    [`${name}_count`, { type: 'counter', labels }],
  ];
}

function ofRegistry(registry: Registry, more: readonly string[] = []): readonly (readonly [string, KnownSeries])[] {
  return registry.getMetricsAsArray().flatMap((metric) => entries(metric as unknown as Registered, more));
}

/** The registry of a whole operator, put together as its process does and not run. */
async function operatorRegistry(): Promise<Registry> {
  const registry = new Registry();
  registerProcessMetrics(registry);
  const config = readConfig({
    POD_NAMESPACE: 'agentfleet-system',
    POD_NAME: 'operator-0',
    ...Object.fromEntries(['AGENT', 'INFERENCE', 'SANDBOX', 'TOOLS'].map((part) => [`AGENTFLEET_${part}_IMAGE`, 'example.com/image:1'])),
  });
  const transport = createTransport(
    { server: 'http://127.0.0.1:9', credentials: () => Promise.reject(new Error('nothing is asked')) },
    { userAgent: 'test', registry, clock: systemClock, log: silentLog },
  );
  createOperator({ config, transport, identity: 'test', clock: systemClock, random: () => 0, log: silentLog, registry });
  await transport.close();
  // All that is collected while somebody scrapes is collected once.
  await registry.metrics();
  return registry;
}

/** All series that our processes export, as their own registries have them, and those of others that are listed. */
export async function catalogue(): Promise<ReadonlyMap<string, KnownSeries>> {
  const worker = createMetrics().registry;
  const inference = new InferenceMetrics(
    () => 0,
    () => true,
  ).registry;
  const engines = Object.entries(vllmMetrics).flatMap(([name, { type, labels = [] }]) =>
    entries({ name, type, labelNames: [...labels, 'model_name', 'engine'] }, relabelled),
  );
  const gauges = dcgmMetrics.flatMap((name) => entries({ name, type: 'gauge', labelNames: ['Hostname', 'gpu', 'UUID'] }, []));
  const up = entries({ name: 'up', type: 'gauge' }, relabelled);
  return new Map([
    ...ofRegistry(await operatorRegistry()),
    ...ofRegistry(worker, relabelled),
    ...ofRegistry(inference, relabelled),
    ...engines,
    ...gauges,
    ...up,
  ]);
}
