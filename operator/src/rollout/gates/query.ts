// operator, rollout/gates: gate on the answer of a Prometheus query. May import statistics, routing and protocol.
import type { Finding, Gate, QueryAnswer } from './gate.ts';

type QueryGate = Omit<Extract<Gate, { type: 'Query' }>, 'type'>;

/** Judges whether the answer of a query is inside its bounds; noise is smoothed in PromQL, with `avg_over_time` and the like. Pure. */
export function queryFinding(answer: QueryAnswer | undefined, { name, min, max }: QueryGate): Finding {
  const { value, lacks = 'the server was not asked' } = answer ?? {};
  if (value === undefined || !Number.isFinite(value)) {
    const message = `the query of ${name} has no answer (${lacks}): see the Prometheus server and the series`;
    return { verdict: 'InsufficientData', samples: 0, message };
  }
  const holds = (min === undefined || value >= min) && (max === undefined || value <= max);
  return { verdict: holds ? 'Pass' : 'Fail', value, samples: 1, message: `${value}, between ${min ?? '−∞'} and ${max ?? '∞'}` };
}
