import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

/** Time between two samples, ms: prom-client's default of 10 wakes an idle process a hundred times a second. */
const sampleMs = 100;

/** So that prom-client takes no samples of its own. */
const neverMs = 2 ** 31 - 1;

const theirs = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'] as const;
const measures = ['mean', 'p50', 'p90', 'p99', 'max'] as const;

/**
 * The default metrics of a Node process, with the lag of the event loop sampled ten times a second, and without the time
 * between two samples, which prom-client counts as lag. Each read of the metrics begins the figures anew.
 */
export function registerProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: neverMs });
  for (const measure of theirs) registry.removeSingleMetric(`nodejs_eventloop_lag_${measure}_seconds`);
  const histogram = monitorEventLoopDelay({ resolution: sampleMs });
  histogram.enable();
  const secondsOf = (measure: (typeof measures)[number]): number => {
    if (histogram.count === 0) return 0;
    const ns = measure === 'mean' || measure === 'max' ? histogram[measure] : histogram.percentile(Number(measure.slice(1)));
    return Math.max(0, ns / 1e9 - sampleMs / 1000);
  };
  // The first that is read sets all, as the figures begin anew then.
  const collect = (): void => {
    for (const [index, measure] of measures.entries()) gauges[index]?.set(secondsOf(measure));
    histogram.reset();
  };
  const gauges = measures.map((measure, index) => {
    const name = `nodejs_eventloop_lag_${measure}_seconds`;
    const help = `Lag of the event loop in seconds since the metrics were read last: ${measure}.`;
    return new Gauge({ name, help, registers: [registry], ...(index === 0 ? { collect } : {}) });
  });
}
