import type { Finding, QueryAnswers } from './gate.ts';

interface QueryGate {
  readonly name: string;
  readonly min?: number;
  readonly max?: number;
  readonly failureLimit: number;
}

/**
 * Whether the answer of a query is inside its bounds. One answer is no statistic: so many in a row as `failureLimit` says may
 * be outside before it fails, and none of these passes. Pure.
 */
export function queryFinding(answers: QueryAnswers | undefined, { name, min, max, failureLimit }: QueryGate): Finding {
  const { values = [], lacks = 'the server was not asked' } = answers ?? {};
  const value = values.at(-1);
  if (answers?.lacks !== undefined || value === undefined || !Number.isFinite(value)) {
    const message = `the query of ${name} has no answer (${lacks}): see the Prometheus server and the series`;
    return { verdict: 'InsufficientData', samples: 0, message };
  }
  const holds = (one: number): boolean => (min === undefined || one >= min) && (max === undefined || one <= max);
  const outside = values.length - 1 - values.findLastIndex(holds);
  const verdict = outside === 0 ? 'Pass' : outside > failureLimit ? 'Fail' : 'Inconclusive';
  const row = outside === 0 || failureLimit === 0 ? '' : `; ${outside} answers in a row are not, and ${failureLimit} may be`;
  return { verdict, value, samples: values.length, message: `${value}, between ${min ?? '−∞'} and ${max ?? '∞'}${row}` };
}
