import type { Counter, Registry } from 'prom-client';
import { counter, gauge, histogram } from '../runtime/metrics.ts';

/** Of controller-runtime pkg/internal/controller/metrics/metrics.go. */
const timeBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5,
  5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after';

export interface ReconcileMetrics {
  active(change: 1 | -1): void;
  finished(result: ReconcileResult, ms: number): void;
  error(): void;
  terminal(): void;
  panic(): void;
  timeout(): void;
  /** A reconcile was put off because a cache had not seen our own write. */
  stale(): void;
}

const none = (): void => {};
export const noReconcileMetrics: ReconcileMetrics = {
  active: none,
  finished: none,
  error: none,
  terminal: none,
  panic: none,
  timeout: none,
  stale: none,
};

function resultCounter(registry: Registry, controller: string): Counter<'controller' | 'result'> {
  const total = counter(registry, {
    name: 'controller_runtime_reconcile_total',
    help: 'Total number of reconciliations per controller',
    labelNames: ['controller', 'result'],
  });
  for (const result of ['success', 'error', 'requeue', 'requeue_after']) total.inc({ controller, result }, 0);
  return total;
}

function setMaxConcurrent(registry: Registry, controller: string, maxConcurrent: number): void {
  gauge(registry, {
    name: 'controller_runtime_max_concurrent_reconciles',
    help: 'Maximum number of concurrent reconciles per controller',
    labelNames: ['controller'],
  }).set({ controller }, maxConcurrent);
}

/** The controller_runtime_* metrics; all counters of this controller exist from the start, with 0. */
export function reconcileMetrics(registry: Registry, controller: string, maxConcurrent: number): ReconcileMetrics {
  const own = { controller };
  const plain = (name: string, help: string): (() => void) => {
    const made = counter(registry, { name, help, labelNames: ['controller'] });
    made.inc(own, 0);
    return () => made.inc(own);
  };
  const total = resultCounter(registry, controller);
  const time = histogram(registry, {
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'Length of time per reconciliation per controller',
    labelNames: ['controller'],
    buckets: timeBuckets,
  });
  const active = gauge(registry, {
    name: 'controller_runtime_active_workers',
    help: 'Number of currently used workers per controller',
    labelNames: ['controller'],
  });
  active.set(own, 0);
  setMaxConcurrent(registry, controller, maxConcurrent);
  return {
    active: (change) => active.inc(own, change),
    finished: (result, ms) => {
      total.inc({ controller, result });
      time.observe(own, ms / 1000);
    },
    error: plain('controller_runtime_reconcile_errors_total', 'Total number of reconciliation errors per controller'),
    terminal: plain('controller_runtime_terminal_reconcile_errors_total', 'Total number of terminal reconciliation errors per controller'),
    panic: plain('controller_runtime_reconcile_panics_total', 'Total number of reconciliation panics per controller'),
    timeout: plain('controller_runtime_reconcile_timeouts_total', 'Total number of reconciliation timeouts per controller'),
    stale: plain('controller_runtime_reconcile_stale_cache_skips_total', 'Reconciliations put off until the cache has seen our own writes'),
  };
}
