import { expect, test } from 'vitest';
import { compare, parseResults } from '../checks/index.ts';
import { pytestRun } from '../checks/testdata/render.ts';
import { broken, holds, proveAgain, withoutPassed, type Baseline, type Proof } from './checkRun.ts';

const end = { signal: null, timedOut: false, killed: null, oom: false, durationMs: 1, dropped: { stdout: 0, stderr: 0 } };
const cutOff = { ...end, exitCode: null, interrupted: 'KeeperRestarted' };

/** A check that failed at the start, in a sandbox where its runs end like this one after the other. */
function bed(...ends: readonly object[]) {
  let runs = 0;
  const exec = () => Promise.resolve({ stdout: '', stderr: '', end: ends[runs++] });
  const session = { exec, remove: () => Promise.resolve(), read: () => Promise.resolve(null) };
  const check = { name: 'unit', type: 'Command', command: ['make', 'test'], expect: 'Auto' };
  const before = { check: 'unit', end: { ...end, exitCode: 1 }, results: parseResults('Exit', { exitCode: 1, stdout: '', stderr: '' }) };
  const task = { spec: { deadlineSeconds: 60 } };
  const baseline = { runner: { session, task, reach: null, reports: [], reportFolders: [] } } as unknown as Baseline;
  return {
    baseline,
    judged: { check, format: 'Exit', baseline: [before, before], judgement: { expect: 'FailThenPass' } } as never,
    runs: () => runs,
  };
}

test.each([
  ['holds', [{ ...end, exitCode: 0 }], 1, true, null],
  ['fails', [{ ...end, exitCode: 1 }], 1, false, null],
  ['was cut off by a keeper that died, and holds', [cutOff, { ...end, exitCode: 0 }], 2, true, null],
  ['was cut off, and fails', [cutOff, { ...end, exitCode: 1 }], 2, false, null],
  ['was cut off twice', [cutOff, cutOff, { ...end, exitCode: 0 }], 2, false, 'Interrupted'],
] as const)('a check that %s is run as often as it needs', async (_, ends, runs, held, why) => {
  const at = bed(...ends);
  const proof = await proveAgain(at.judged, at.baseline);
  expect([at.runs(), holds(proof), broken(proof)?.code ?? null]).toEqual([runs, held, why]);
});

test.each([
  ['passed at the start in one run', 'Passed', true],
  ['failed at the start in every run', 'Failed', false],
] as const)('a command that ends with 1 for a flaky test holds only where it %s', (_, other, held) => {
  const of = (first: 'Passed' | 'Failed', second: 'Passed' | 'Failed') =>
    pytestRun([
      ['a.py::a', first],
      ['a.py::b', second],
    ]);
  const run = of('Failed', 'Passed');
  const verdict = compare([run, of('Passed', other)], run, 'Auto');
  expect(holds({ judged: { judgement: { expect: 'FailThenPass' } }, run, verdict } as unknown as Proof)).toBe(held);
});

test('lines of tests that passed are left out, also of millions of empty lines', () => {
  expect(withoutPassed('ok 1 - a\nnot ok 2 - b\nok 3 # TODO c\n    --- PASS: TestD\nPASSED a.py\nleft\n')).toBe(
    'not ok 2 - b\nok 3 # TODO c\nleft\n',
  );
  expect(withoutPassed('\n'.repeat(2_000_000))).toHaveLength(2_000_000);
});
