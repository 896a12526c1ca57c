import type { Clock } from '@agentfleet/kube';
import { Histogram, type Registry } from 'prom-client';

const name = 'agentfleet_placement_solve_seconds';

/** Measures decisions about all places; gives what decides under the watch. */
export function solveTimes(registry: Registry, clock: Clock): <T>(decide: () => T) => T {
  const times =
    (registry.getSingleMetric(name) as Histogram | undefined) ??
    new Histogram({
      name,
      help: 'Time of a decision about all places, from the ledger to the plans.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers: [registry],
    });
  return (decide) => {
    const began = clock.monotonic();
    try {
      return decide();
    } finally {
      times.observe((clock.monotonic() - began) / 1000);
    }
  };
}
