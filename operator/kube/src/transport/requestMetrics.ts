import type { Registry } from 'prom-client';
import { counter, histogram } from '../runtime/metrics.ts';
import type { Method } from './types.ts';

/** Seconds; client-go's buckets (controller-runtime pkg/metrics/client_go_adapter.go, and component-base). */
const latencyBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

export interface RequestMetrics {
  /** `code` is the HTTP status, or `<error>` when there was none. */
  observe(method: Method, code: string, seconds: number): void;
}

/** rest_client_requests_total and rest_client_request_duration_seconds, under client-go's names. */
export function requestMetrics(registry: Registry | undefined, host: string): RequestMetrics {
  if (registry === undefined) return { observe: () => {} };
  const total = counter(registry, {
    name: 'rest_client_requests_total',
    help: 'Number of HTTP requests, partitioned by status code, method, and host.',
    labelNames: ['code', 'method', 'host'],
  });
  const duration = histogram(registry, {
    name: 'rest_client_request_duration_seconds',
    help: 'Request latency in seconds. Broken down by verb, and host.',
    labelNames: ['verb', 'host'],
    buckets: latencyBuckets,
  });
  return {
    observe: (method, code, seconds) => {
      total.inc({ code, method, host });
      duration.observe({ verb: method, host }, seconds);
    },
  };
}
