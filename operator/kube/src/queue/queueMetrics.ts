import type { Registry } from 'prom-client';
import type { Clock } from '../runtime/clock.ts';
import { counter, gauge, histogram } from '../runtime/metrics.ts';

/** 10e-9·10ᵏ seconds, k = 0…11 (controller-runtime pkg/internal/metrics/workqueue.go). */
const buckets = Array.from({ length: 12 }, (_, k) => 10e-9 * 10 ** k);

/** What a queue reports. Times are monotonic ms. */
export interface QueueMetrics {
  added(): void;
  retried(): void;
  depth(priority: number, change: 1 | -1): void;
  waited(ms: number): void;
  worked(ms: number): void;
}

export const noQueueMetrics: QueueMetrics = { added: () => {}, retried: () => {}, depth: () => {}, waited: () => {}, worked: () => {} };

const labels = ['name', 'controller'] as const;

/** Two gauges whose values are ages; they are computed at each scrape. */
function ageGauges(registry: Registry, name: string, clock: Clock, processing: () => Iterable<number>): void {
  const ages = (): number[] => [...processing()].map((begin) => (clock.monotonic() - begin) / 1000);
  const collectors: readonly (readonly [string, string, (ages: number[]) => number])[] = [
    [
      'workqueue_unfinished_work_seconds',
      'Seconds of work that is in progress and has not been observed by work_duration. Large values indicate stuck workers.',
      (all) => all.reduce((sum, age) => sum + age, 0),
    ],
    [
      'workqueue_longest_running_processor_seconds',
      'Seconds that the longest running worker has been running.',
      (all) => all.reduce((most, age) => Math.max(most, age), 0),
    ],
  ];
  for (const [metric, help, fold] of collectors) {
    const made = gauge(registry, { name: metric, help, labelNames: [...labels] });
    const collectable = made as unknown as { collect?: () => void };
    const others = collectable.collect;
    collectable.collect = (): void => {
      others?.call(made);
      made.set({ name, controller: name }, fold(ages()));
    };
  }
}

/** The workqueue_* metrics under the names of client-go and controller-runtime; `name` is the controller's. */
export function queueMetrics(registry: Registry, name: string, clock: Clock, processing: () => Iterable<number>): QueueMetrics {
  const own = { name, controller: name };
  const labelNames = [...labels];
  const depth = gauge(registry, {
    name: 'workqueue_depth',
    help: 'Current depth of workqueue by workqueue and priority',
    labelNames: [...labels, 'priority'],
  });
  const adds = counter(registry, { name: 'workqueue_adds_total', help: 'Total number of adds handled by workqueue', labelNames });
  const retries = counter(registry, { name: 'workqueue_retries_total', help: 'Total number of retries handled by workqueue', labelNames });
  const waited = histogram(registry, {
    name: 'workqueue_queue_duration_seconds',
    help: 'How long in seconds an item stays in workqueue before being requested',
    labelNames,
    buckets,
  });
  const worked = histogram(registry, {
    name: 'workqueue_work_duration_seconds',
    help: 'How long in seconds processing an item from workqueue takes.',
    labelNames,
    buckets,
  });
  adds.inc(own, 0);
  retries.inc(own, 0);
  depth.set({ ...own, priority: 0 }, 0);
  ageGauges(registry, name, clock, processing);
  return {
    added: () => adds.inc(own),
    retried: () => retries.inc(own),
    depth: (priority, change) => depth.inc({ ...own, priority }, change),
    waited: (ms) => waited.observe(own, ms / 1000),
    worked: (ms) => worked.observe(own, ms / 1000),
  };
}
