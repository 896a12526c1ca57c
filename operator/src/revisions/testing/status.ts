import type { RolloutReport } from '../report.ts';

/** The status of a rollout of which nothing has begun, and what of it is otherwise. */
export function rolloutStatus(more: Partial<RolloutReport> = {}): RolloutReport {
  const counts = { weight: 0, step: 0, samplesBefore: 0, samples: 0 };
  return { phase: 'Idle', ...counts, since: '2030-01-01T00:00:00Z', reason: 'Idle', message: '', ...more };
}
