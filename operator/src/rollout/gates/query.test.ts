import { expect, it } from 'vitest';
import { queryFinding } from './query.ts';

it.for<[string, number, string]>([
  ['inside', 1.5, 'Pass'],
  ['at a bound', 2, 'Pass'],
  ['outside', 3, 'Fail'],
])('an answer that is %s', ([, value, expected]) => {
  expect(queryFinding({ value }, { name: 'gpu', min: 1, max: 2 }).verdict).toBe(expected);
});

it('that is missing counts for nothing', () => {
  for (const answer of [undefined, {}, { value: Number.NaN }])
    expect(queryFinding(answer, { name: 'gpu', min: 1 }).verdict).toBe('InsufficientData');
  const { message } = queryFinding({ lacks: '0 series answer; the query has to answer one' }, { name: 'gpu' });
  expect(message).toBe(
    'the query of gpu has no answer (0 series answer; the query has to answer one): see the Prometheus server and the series',
  );
});
