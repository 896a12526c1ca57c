import { expect, test } from 'vitest';
import type { TestResult } from '../checks/index.ts';
import { trialSeconds } from './trial.ts';

type Run = Parameters<typeof trialSeconds>[0][number];

const end = { exitCode: 1, signal: null, timedOut: false, killed: null, oom: false } as const;
const failed: TestResult = { id: 'a', outcome: 'Failed', kind: 'Test' };
const results: Run['results'] = {
  format: 'Unittest',
  source: 'Output',
  evidence: 'Tests',
  tests: [failed, { id: 'b', outcome: 'Passed', kind: 'Test' }],
  unnamed: { passed: 0, failed: 0, skipped: 0, errored: 0 },
  complete: true,
  stopped: false,
  problems: [],
};
const run = (millis: number, more: Partial<Run> = {}): Run => ({ end, results, millis, ...more });

test.each<readonly [what: string, runs: readonly Run[], seconds: number]>([
  ['a short check, on a busy node', [run(200), run(300)], 10],
  ['ten times the slower run', [run(2000), run(4000)], 40],
  ['no baseline', [], Infinity],
  ['a baseline that timed out, by its time', [run(2000, { end: { ...end, timedOut: true } })], 12],
  ['one that was killed', [run(2000, { end: { ...end, killed: 'ProcessLimit' } })], Infinity],
  ['one that was cut short', [run(2000, { results: { ...results, complete: false } })], Infinity],
  ['one that names no tests', [run(2000, { results: { ...results, evidence: 'Exit' } })], Infinity],
  ['one with a file that did not load', [run(2000, { results: { ...results, tests: [{ ...failed, kind: 'Container' }] } })], Infinity],
  ['one with a set-up that failed', [run(2000, { results: { ...results, tests: [{ ...failed, outcome: 'Errored' }] } })], Infinity],
])('%s bounds a trial', (_, runs, seconds) => {
  expect(trialSeconds(runs, 120)).toBe(seconds);
});

test.each([
  [10, 5],
  [600, 30],
])('of %s s a trial gets %s s after a baseline that timed out', (timeout, seconds) => {
  expect(trialSeconds([run(timeout * 1000, { end: { ...end, timedOut: true } })], timeout)).toBe(seconds);
});
