// operator/kube, runtime: counters, gauges and histograms that several parts share by name. Imports nothing of other folders.
import { Counter, Gauge, Histogram, type CounterConfiguration, type GaugeConfiguration, type HistogramConfiguration } from 'prom-client';
import type { Registry } from 'prom-client';

export type { Registry } from 'prom-client';

/** The counter of that name in the registry; made when it is not there, so that several parts can share it. */
export function counter<L extends string>(registry: Registry, config: CounterConfiguration<L>): Counter<L> {
  const known = registry.getSingleMetric(config.name) as Counter<L> | undefined;
  return known ?? new Counter({ ...config, registers: [registry] });
}

export function gauge<L extends string>(registry: Registry, config: GaugeConfiguration<L>): Gauge<L> {
  const known = registry.getSingleMetric(config.name) as Gauge<L> | undefined;
  return known ?? new Gauge({ ...config, registers: [registry] });
}

export function histogram<L extends string>(registry: Registry, config: HistogramConfiguration<L>): Histogram<L> {
  const known = registry.getSingleMetric(config.name) as Histogram<L> | undefined;
  return known ?? new Histogram({ ...config, registers: [registry] });
}
