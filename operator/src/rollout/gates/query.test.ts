import { expect, it } from 'vitest';
import type { QueryAnswers } from './gate.ts';
import { queryFinding } from './query.ts';

const verdict = (answers: QueryAnswers | undefined, failureLimit: number): string =>
  queryFinding(answers, { name: 'gpu', min: 1, max: 2, failureLimit }).verdict;

it.for<[string, readonly number[], number, string]>([
  ['inside', [9, 9, 1.5], 0, 'Pass'],
  ['at a bound', [2], 0, 'Pass'],
  ['outside', [1.5, 3], 0, 'Fail'],
  ['outside once, where one may be', [1.5, 3], 1, 'Inconclusive'],
  ['outside twice in a row, where one may be', [1.5, 3, 0.5], 1, 'Fail'],
  ['outside twice, but not in a row', [3, 1.5, 3], 1, 'Inconclusive'],
  ['outside from the first answer on, as far as is remembered', [3], 1, 'Inconclusive'],
])('an answer that is %s', ([, values, failureLimit, expected]) => {
  expect(verdict({ values }, failureLimit)).toBe(expected);
});

it('that is missing says nothing, whatever was answered before', () => {
  for (const answers of [undefined, { values: [] }, { values: [Number.NaN] }, { values: [1.5, 1.5], lacks: 'no series' }])
    expect(verdict(answers, 0)).toBe('InsufficientData');
  const { message } = queryFinding(
    { values: [1], lacks: '0 series answer; the query has to answer one' },
    { name: 'gpu', failureLimit: 0 },
  );
  expect(message).toBe(
    'the query of gpu has no answer (0 series answer; the query has to answer one): see the Prometheus server and the series',
  );
});
