// operator, metrics: lag of the event loop and default metrics of the process. May import the layers below metrics, kube and protocol.
import { createHistogram, performance } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

/** Returns the share of time that the loop was busy since the last look, 0 to 1, from `performance.eventLoopUtilization`. */
type Utilization = () => number;

interface LagSamplerOptions {
  readonly utilization: Utilization;
  /** Monotonic ms. */
  readonly now: () => number;
  /** Sets the next look. It must not keep the process alive. */
  readonly after: (ms: number, run: () => void) => void;
  /** Hears of each lag, ms. */
  readonly record: (lagMs: number) => void;
}

/** Time between two looks, ms. An event loop that rests has no lag, and each look wakes the process. */
export const lookMs = { busy: 100, resting: 1_000 } as const;

/** Share of its time from which on a loop is busy. */
const busyFrom = 0.02;

/** Looks how late the event loop is: ten times a second while there is work, once a second while there is none. */
export function sampleLag({ utilization, now, after, record }: LagSamplerOptions): void {
  const look = (wait: number): void => {
    const due = now() + wait;
    after(wait, () => {
      const lag = Math.max(0, now() - due);
      record(lag);
      // A loop that was late was busy, whatever its share of the whole time is.
      look(lag > lookMs.busy || utilization() >= busyFrom ? lookMs.busy : lookMs.resting);
    });
  };
  look(lookMs.busy);
}

/** So that prom-client takes no samples of its own: its default of 10 ms wakes an idle process a hundred times a second. */
const neverMs = 2 ** 31 - 1;

const theirs = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'] as const;
const measures = ['mean', 'p50', 'p90', 'p99', 'max'] as const;

/**
 * The default metrics of a Node process, with the lag of the event loop as `sampleLag` finds it, and without the time
 * between two samples, which prom-client counts as lag. Each read of the metrics begins the figures again.
 */
export function registerProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: neverMs });
  for (const measure of theirs) registry.removeSingleMetric(`nodejs_eventloop_lag_${measure}_seconds`);
  const histogram = createHistogram();
  let before = performance.eventLoopUtilization();
  sampleLag({
    utilization: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return utilization;
    },
    now: () => performance.now(),
    after: (ms, run) => void setTimeout(run, ms).unref(),
    // A histogram takes whole numbers from 1 on.
    record: (lagMs) => histogram.record(Math.max(1, Math.round(lagMs * 1e6))),
  });
  const secondsOf = (measure: (typeof measures)[number]): number => {
    if (histogram.count === 0) return 0;
    return (measure === 'mean' || measure === 'max' ? histogram[measure] : histogram.percentile(Number(measure.slice(1)))) / 1e9;
  };
  // The first that is read sets all, as the figures begin again then.
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
