import { expect, test } from 'vitest';
import { output, pytestRun, run, type Rendered } from '../testdata/render.ts';
import { wholeRun } from '../parse/results.ts';
import { judgeBaseline } from './baseline.ts';
import { compare } from './compare.ts';
import type { CheckRun, RunEnd } from './types.ts';

const before: Rendered = [
  ['t.py::fixed', 'Failed'],
  ['t.py::other', 'Failed'],
  ['t.py::good', 'Passed'],
  ['t.py::off', 'Skipped'],
];
const baseline = [pytestRun(before)];
const ended = (end: Partial<RunEnd>, stdout = ''): CheckRun => run('Pytest', output(1, stdout), { exitCode: null, ...end });
const codes = (reasons: readonly { readonly code: string }[]): string[] => reasons.map(({ code }) => code);

/** The baseline's tests with other outcomes; null takes one away. */
function after(changes: Readonly<Record<string, 'Passed' | 'Failed' | 'Skipped' | null>>, more: Rendered = []): Rendered {
  const kept = before.map(([id, outcome]) => [id, changes[id] === undefined ? outcome : changes[id]] as const);
  return [...kept.filter((one): one is Rendered[number] => one[1] !== null), ...more];
}

test('one failing test that passes proves it, as decision 4 demands, even while another still fails', () => {
  const verdict = compare(baseline, pytestRun(after({ 't.py::fixed': 'Passed' }, [['t.py::new', 'Passed']])), 'Auto');
  expect(verdict).toMatchObject({
    proved: true,
    class: null,
    reasons: [],
    newlyPassing: ['t.py::fixed'],
    stillFailing: ['t.py::other'],
    added: ['t.py::new'],
  });
});

test.each([
  ['a test is missing', after({ 't.py::fixed': 'Passed', 't.py::good': null }), ['Missing'], { missing: ['t.py::good'] }],
  ['the failing test is missing', after({ 't.py::fixed': 'Passed', 't.py::other': null }), ['Missing'], { missing: ['t.py::other'] }],
  ['a test is skipped', after({ 't.py::fixed': 'Passed', 't.py::other': 'Skipped' }), ['NewlySkipped'], { newlySkipped: ['t.py::other'] }],
  ['a test regressed', after({ 't.py::fixed': 'Passed', 't.py::good': 'Failed' }), ['Regressed'], { regressed: ['t.py::good'] }],
  ['nothing is fixed', after({}), ['NothingFixed'], { newlyPassing: [] }],
] as const)('not proved when %s', (_, tests, reasons, lists) => {
  const verdict = compare(baseline, pytestRun(tests), 'FailThenPass');
  expect(verdict).toMatchObject({ proved: false, class: 'CheckFailed', ...lists });
  expect(codes(verdict.reasons)).toEqual(reasons);
  for (const { message, cure } of verdict.reasons) expect(`${message}; ${cure}`).toMatch(/^check unit: .+; .+/);
});

test('the exit code has to agree with the tests', () => {
  const all = after({ 't.py::fixed': 'Passed', 't.py::other': 'Passed' });
  expect(codes(compare(baseline, pytestRun(all, 1), 'Auto').reasons)).toEqual(['ExitDisagrees']);
  expect(codes(compare(baseline, pytestRun(after({ 't.py::fixed': 'Passed' }), 0), 'Auto').reasons)).toEqual(['ExitHidesFailure']);
});

test('Pass asks for every test to pass', () => {
  expect(codes(compare(baseline, pytestRun(after({ 't.py::fixed': 'Passed' })), 'Pass').reasons)).toEqual(['StillFails']);
  expect(compare(baseline, pytestRun(after({ 't.py::fixed': 'Passed', 't.py::other': 'Passed' })), 'Pass').proved).toBe(true);
});

test('Auto is FailThenPass when the baseline fails, else Pass', () => {
  const good = [pytestRun([['a.py::a', 'Passed']])];
  expect(judgeBaseline(baseline, 'Auto')).toMatchObject({
    accepted: true,
    expect: 'FailThenPass',
    failing: ['t.py::fixed', 't.py::other'],
  });
  expect(judgeBaseline(good, 'Auto')).toMatchObject({ accepted: true, expect: 'Pass' });
  expect(judgeBaseline(good, 'FailThenPass')).toMatchObject({
    accepted: false,
    class: 'InvalidInput',
    reasons: [{ code: 'AlreadyPasses' }],
  });
});

test('differences between baseline runs are neither proof nor regression, and are reported', () => {
  const flaky = (outcome: 'Passed' | 'Failed'): CheckRun =>
    pytestRun([
      ['a.py::flaky', outcome],
      ['a.py::bad', 'Failed'],
    ]);
  const runs = [flaky('Passed'), flaky('Failed')];
  expect(judgeBaseline(runs, 'Auto')).toMatchObject({ accepted: true, failing: ['a.py::bad'], flaky: ['a.py::flaky'] });
  expect(
    compare(
      runs,
      pytestRun([
        ['a.py::flaky', 'Passed'],
        ['a.py::bad', 'Failed'],
      ]),
      'Auto',
    ),
  ).toMatchObject({ proved: false, newlyPassing: [] });
  expect(
    compare(
      runs,
      pytestRun([
        ['a.py::flaky', 'Failed'],
        ['a.py::bad', 'Passed'],
      ]),
      'Auto',
    ),
  ).toMatchObject({ proved: true, flaky: ['a.py::flaky'] });
  expect(codes(compare(runs, pytestRun([['a.py::bad', 'Passed']]), 'Auto').reasons)).toEqual(['Missing']);
  const only = [pytestRun([['a.py::f', 'Failed']]), pytestRun([['a.py::f', 'Passed']])];
  expect(judgeBaseline(only, 'FailThenPass')).toMatchObject({ class: 'InvalidInput', reasons: [{ code: 'OnlyFlaky' }] });
});

test('a command that fails in every run, each time by another test, fails as a whole and has to pass as a whole', () => {
  const red = (bad: string, good: string): CheckRun =>
    pytestRun([
      [bad, 'Failed'],
      [good, 'Passed'],
    ]);
  const runs = [red('a.py::a', 'a.py::b'), red('a.py::b', 'a.py::a')];
  for (const expected of ['Auto', 'FailThenPass'] as const)
    expect(judgeBaseline(runs, expected)).toMatchObject({ accepted: true, expect: 'FailThenPass', failing: [wholeRun] });
  expect(compare(runs, red('a.py::a', 'a.py::b'), 'Auto')).toMatchObject({ proved: false, stillFailing: ['(run)', 'a.py::a'] });
  expect(codes(compare(runs, red('a.py::a', 'a.py::b'), 'Pass').reasons)).toEqual(['StillFails']);
  const green = pytestRun([
    ['a.py::a', 'Passed'],
    ['a.py::b', 'Passed'],
  ]);
  expect(compare(runs, green, 'Auto')).toMatchObject({ proved: true, newlyPassing: [wholeRun] });
});

const failedBefore = [pytestRun([['t.py::good', 'Passed'], ['t.py::bad', 'Failed'], ['t.py::off', 'Skipped']])]; // prettier-ignore
test.each([
  ['as before', [['t.py::good', 'Passed'], ['t.py::bad', 'Failed'], ['t.py::off', 'Skipped']], []],
  ['better', [['t.py::good', 'Passed'], ['t.py::bad', 'Passed'], ['t.py::off', 'Skipped']], []],
  ['a test that passed fails', [['t.py::good', 'Failed'], ['t.py::bad', 'Passed'], ['t.py::off', 'Skipped']], ['Regressed']],
  ['one that failed is skipped', [['t.py::good', 'Passed'], ['t.py::bad', 'Skipped'], ['t.py::off', 'Skipped']], ['NewlySkipped']],
  ['one that failed is gone', [['t.py::good', 'Passed'], ['t.py::off', 'Skipped']], ['Missing']],
  ['a new one fails', [['t.py::good', 'Passed'], ['t.py::bad', 'Failed'], ['t.py::off', 'Skipped'], ['t.py::new', 'Failed']], ['StillFails']],
] as const)('NoRegression, %s', (_, now, reasons) => {
  const verdict = compare(failedBefore, pytestRun(now), 'NoRegression');
  expect([verdict.proved, codes(verdict.reasons)]).toEqual([reasons.length === 0, reasons]);
}); // prettier-ignore

test('NoRegression proves nothing by itself, and needs names of what fails', () => {
  expect(judgeBaseline(failedBefore, 'NoRegression')).toMatchObject({ accepted: true, failing: [] });
  expect(judgeBaseline([run('Exit', output(1, 'broken'))], 'NoRegression')).toMatchObject({
    accepted: false,
    reasons: [{ code: 'NoTests' }],
  });
});

test('a test that failed each time it ran is not flaky because a run stopped before it', () => {
  const stopped = (...bad: string[]): CheckRun => pytestRun(bad.map((id) => [id, 'Failed'] as const));
  const runs = [stopped('a.py::a', 'a.py::b'), stopped('a.py::a', 'a.py::c')];
  expect(judgeBaseline(runs, 'Auto')).toMatchObject({ failing: ['a.py::a'], flaky: [] });
  const half = pytestRun([
    ['a.py::a', 'Passed'],
    ['a.py::b', 'Failed'],
  ]);
  expect(compare(runs, half, 'Auto')).toMatchObject({ newlyPassing: ['a.py::a'], stillFailing: ['a.py::b'], flaky: [] });
  const fits = [stopped('a.py::x'), pytestRun([['a.py::a', 'Passed']])];
  expect(judgeBaseline(fits, 'Auto')).toMatchObject({ expect: 'Pass', flaky: ['(run)', 'a.py::a', 'a.py::x'] });
});

test('a test that is skipped at times and never failed may not fail', () => {
  const at = (outcome: 'Passed' | 'Failed' | 'Skipped'): CheckRun =>
    pytestRun([
      ['a.py::a', outcome],
      ['a.py::b', 'Passed'],
    ]);
  expect(compare([at('Passed'), at('Skipped')], at('Failed'), 'Auto')).toMatchObject({ proved: false, regressed: ['a.py::a'] });
});

test.each([
  ['exit code 127', { exitCode: 127 }, 'InvalidInput', 'NotRunnable'],
  ['exit code 126', { exitCode: 126 }, 'InvalidInput', 'NotRunnable'],
  ['no such program', { error: { code: 'ENOENT', message: 'no such file' } }, 'InvalidInput', 'NotRunnable'],
  ['no processes left', { error: { code: 'EAGAIN', message: 'try again' } }, 'Infrastructure', 'Interrupted'],
  ['a lost container', { interrupted: 'ToolsLost' as const }, 'Infrastructure', 'Interrupted'],
  ['a shutdown', { killed: 'Shutdown' }, 'Infrastructure', 'Interrupted'],
])('a baseline with %s is refused before budget is spent', (_, end, cls, code) => {
  expect(judgeBaseline([ended(end)], 'Auto')).toMatchObject({ accepted: false, class: cls, reasons: [{ code }] });
});

test.each([
  ['a time-out', { timedOut: true }, 'CheckFailed', 'TimedOut'],
  ['no memory', { oom: true, signal: 'SIGKILL' }, 'CheckFailed', 'OutOfMemory'],
  ['a crash', { signal: 'SIGSEGV' }, 'CheckFailed', 'Killed'],
  ['a full disk quota', { killed: 'QuotaExceeded' }, 'CheckFailed', 'Killed'],
  ['a restart of the keeper', { interrupted: 'KeeperRestarted' as const }, 'Infrastructure', 'Interrupted'],
  ['a command that is gone', { exitCode: 127 }, 'CheckFailed', 'NotRunnable'],
])('a result with %s proves nothing', (_, end, cls, code) => {
  const verdict = compare(baseline, ended(end), 'Auto');
  expect(verdict).toMatchObject({ proved: false, class: cls });
  expect(codes(verdict.reasons)).toContain(code);
});

test('a baseline that never ends is proved by a run that does', () => {
  const hangs = [ended({ timedOut: true }, 'a.py::one PASSED  [ 50%]\n')];
  expect(judgeBaseline(hangs, 'Auto')).toMatchObject({ accepted: true, expect: 'FailThenPass', failing: [wholeRun] });
  expect(
    compare(
      hangs,
      pytestRun([
        ['a.py::one', 'Passed'],
        ['a.py::two', 'Passed'],
      ]),
      'Auto',
    ),
  ).toMatchObject({ proved: true, newlyPassing: [wholeRun] });
  expect(compare(hangs, pytestRun([['a.py::two', 'Passed']]), 'Auto')).toMatchObject({ proved: false, missing: ['a.py::one'] });
});

test('a file that could not be loaded is fixed by the tests in it', () => {
  const broken = [run('Pytest', output(2, '=== short test summary info ===\nERROR tests/test_a.py\n=== 1 error in 0.1s ===\n'))];
  expect(judgeBaseline(broken, 'Auto').failing).toEqual(['tests/test_a.py']);
  expect(compare(broken, pytestRun([['tests/test_a.py::a', 'Passed']]), 'Auto')).toMatchObject({
    proved: true,
    newlyPassing: ['tests/test_a.py'],
  });
  expect(compare(broken, pytestRun([['tests/test_a.py::a', 'Failed']]), 'Auto')).toMatchObject({
    proved: false,
    stillFailing: ['tests/test_a.py', 'tests/test_a.py::a'],
  });
  expect(compare(broken, pytestRun([['tests/test_b.py::a', 'Passed']]), 'Auto')).toMatchObject({
    proved: false,
    missing: ['tests/test_a.py'],
  });
});

test('a step that fails after passing tests has to pass', () => {
  const lint = [pytestRun([['a.py::a', 'Passed']], 1)];
  expect(judgeBaseline(lint, 'Auto')).toMatchObject({ accepted: true, failing: [wholeRun] });
  expect(compare(lint, pytestRun([['a.py::a', 'Passed']]), 'Auto').proved).toBe(true);
  expect(compare(lint, pytestRun([['a.py::b', 'Passed']]), 'Auto').proved).toBe(false);
});

test('a baseline whose exit code hides failures, or where nothing ran, is the fault of the spec', () => {
  expect(judgeBaseline([pytestRun([['a.py::a', 'Failed']], 0)], 'Auto')).toMatchObject({
    class: 'InvalidInput',
    reasons: [{ code: 'ExitHidesFailure' }],
  });
  expect(judgeBaseline([pytestRun([])], 'Auto')).toMatchObject({ class: 'InvalidInput', reasons: [{ code: 'NoTests' }] });
  expect(judgeBaseline([], 'Auto')).toMatchObject({ accepted: false, class: 'Infrastructure' });
});

const quiet = (text: string, exitCode: number): CheckRun => run('Pytest', output(exitCode, text));
const failing3 = [quiet('=== short test summary info ===\nFAILED t.py::a - no\n1 failed, 3 passed in 0.1s\n', 1)];

test.each([
  ['all pass', '4 passed in 0.1s\n', 0, true, []],
  ['the failing test was deleted', '3 passed in 0.1s\n', 0, false, ['Missing', 'Missing', 'NothingFixed']],
  ['it was skipped', '3 passed, 1 skipped in 0.1s\n', 0, false, ['Missing', 'Missing', 'NewlySkipped', 'NothingFixed']],
  ['another one broke', '=== short test summary info ===\nFAILED t.py::b - no\n1 failed, 3 passed in 0.1s\n', 1, false, ['Regressed']],
  ['nothing changed', '=== short test summary info ===\nFAILED t.py::a - no\n1 failed, 3 passed in 0.1s\n', 1, false, ['NothingFixed']],
] as const)('where passing tests have no names they are counted: %s', (_, text, exitCode, proved, reasons) => {
  const verdict = compare(failing3, quiet(text, exitCode), 'Auto');
  expect(verdict).toMatchObject({ proved, evidence: 'Counts' });
  expect(codes(verdict.reasons)).toEqual(reasons);
});

/** What a runner prints of files with so many tests, all of which pass. */
const printed = {
  Vitest: (files: Readonly<Record<string, number>>, sum: number) =>
    `${Object.entries(files)
      .map(([file, tests]) => ` ✓ ${file} (${tests} tests) 3ms\n`)
      .join('')}\n Test Files  ${Object.keys(files).length} passed (${Object.keys(files).length})\n      Tests  ${sum} passed (${sum})\n`,
  Jest: (files: Readonly<Record<string, number>>, sum: number) =>
    `${Object.keys(files)
      .map((file) => `PASS ${file} (5.2 s)\n`)
      .join(
        '',
      )}\nTest Suites: ${Object.keys(files).length} passed, ${Object.keys(files).length} total\nTests:       ${sum} passed, ${sum} total\n`,
  Maven: (files: Readonly<Record<string, number>>, sum: number) =>
    `${Object.entries(files)
      .map(([file, tests]) => `[INFO] Tests run: ${tests}, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in ${file}\n`)
      .join('')}[INFO] Tests run: ${sum}, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n`,
} as const;
const filesOf = (
  format: keyof typeof printed,
  files: Readonly<Record<string, number>>,
  sum = Object.values(files).reduce((a, b) => a + b, 0),
): CheckRun => run('Auto', output(0, printed[format](files, sum)));

test.each([
  ['Vitest', { a: 3, b: 2 }, { a: 3, b: 2 }, []],
  ['Vitest', { a: 3, b: 2 }, { a: 4, b: 2, c: 9 }, []],
  ['Vitest', { a: 3, b: 2 }, { a: 3, c: 9 }, ['b (2 tests, not named)']],
  ['Vitest', { a: 3, b: 2 }, { a: 1, b: 9 }, ['a (2 tests, not named)']],
  ['Jest', { a: 3, b: 2 }, { a: 3, c: 9 }, ['b']],
  ['Jest', { a: 3, b: 2 }, { a: 3, b: 2, c: 9 }, []],
  ['Maven', { 'org.ATest': 3, 'org.BTest': 2 }, { 'org.ATest': 9, 'org.BTest': 1 }, ['org.BTest (1 tests, not named)']],
  ['Maven', { 'org.ATest': 3, 'org.BTest': 2 }, { 'org.ATest': 9 }, ['org.BTest (2 tests, not named)']],
] as const)(
  'where tests are counted by file no other file makes up for one that lacks some: %s, %j, then %j',
  (format, before, after, missing) => {
    const verdict = compare([filesOf(format, before)], filesOf(format, after), 'NoRegression');
    expect(verdict).toMatchObject({ evidence: 'Counts', missing, proved: missing.length === 0 });
  },
);

test('a file whose tests are not the same each time at the baseline is held to the fewest', () => {
  const baseline = [filesOf('Vitest', { a: 3, b: 2 }), filesOf('Vitest', { a: 2, b: 2 }), filesOf('Vitest', { a: 3, c: 2 })];
  expect(compare(baseline, filesOf('Vitest', { a: 2, d: 3 }), 'NoRegression')).toMatchObject({ proved: true, missing: [] });
  expect(compare(baseline, filesOf('Vitest', { a: 1, d: 5 }), 'NoRegression')).toMatchObject({ missing: ['a (1 tests, not named)'] });
});

test('where every named test fails, a runner that does not name passing tests is still believed by its counts', () => {
  const one = [quiet('=== short test summary info ===\nFAILED t.py::a - no\nFAILED t.py::b - no\n2 failed in 0.1s\n', 1)];
  expect(compare(one, quiet('2 passed in 0.1s\n', 0), 'Auto')).toMatchObject({
    proved: true,
    evidence: 'Counts',
    newlyPassing: ['t.py::a', 't.py::b'],
  });
  expect(compare(one, quiet('1 passed in 0.1s\n', 0), 'Auto')).toMatchObject({ proved: false, class: 'CheckFailed' });
  const broken = [quiet('=== short test summary info ===\nERROR tests/test_a.py\n1 error in 0.1s\n', 2)];
  expect(compare(broken, quiet('4 passed in 0.1s\n', 0), 'Auto')).toMatchObject({ proved: true, newlyPassing: ['tests/test_a.py'] });
  expect(compare(broken, quiet('no tests ran in 0.1s\n', 5), 'Auto').proved).toBe(false);
});

const folded = (place: string, more = ''): CheckRun =>
  quiet(
    `=== short test summary info ===\nPASSED t.py::a\nSKIPPED [1] ${place}: why\n${more}=== 1 passed, ${more === '' ? 1 : 2} skipped in 0.1s ===\n`,
    0,
  );

test('the place of a folded skip may move, but their number may not grow', () => {
  expect(compare([folded('src/a.py:1')], folded('src/a.py:9'), 'Pass').proved).toBe(true);
  const verdict = compare([folded('src/a.py:1')], folded('src/a.py:1', 'SKIPPED [1] src/a.py:2: why\n'), 'Pass');
  expect(verdict).toMatchObject({ proved: false, newlySkipped: ['src/a.py:2: why'] });
});

test('skips after the place where pytest stopped at the baseline are not new ones', () => {
  const bangs = '!'.repeat(26);
  const red = (stop: string): CheckRun =>
    quiet(`=== short test summary info ===\nFAILED t.py::a - no\n${stop}=== 1 failed in 0.1s ===\n`, 1);
  const green = folded('t.py:5');
  expect(compare([red(`${bangs} stopping after 1 failures ${bangs}\n`)], green, 'Auto')).toMatchObject({ proved: true, reasons: [] });
  expect(compare([red(`${bangs} xdist.dsession.Interrupted: stopping after 1 failures ${bangs}\n`)], green, 'Auto').proved).toBe(true);
  expect(compare([red('')], green, 'Auto')).toMatchObject({ proved: false, newlySkipped: ['t.py:5: why'] });
  const gone = quiet('=== short test summary info ===\nPASSED t.py::b\nSKIPPED [1] t.py:1: why\n=== 1 passed, 1 skipped in 0.1s ===\n', 0);
  expect(compare([red(`${bangs} stopping after 1 failures ${bangs}\n`)], gone, 'Auto')).toMatchObject({
    proved: false,
    missing: ['t.py::a'],
  });
});

test.each([
  '/usr/bin/python3: No module named pytest',
  'ERROR: usage: pytest [options] [file_or_dir] [file_or_dir] [...]',
  'npm error Missing script: "test"',
  "make: *** No rule to make target 'test'.  Stop.",
  'python3: No module named nox',
  'error: Could not find Package.swift in this directory or any of its parent directories.',
  "Couldn't find project.clj, which is needed for test",
])('a runner that cannot begin is the fault of the spec: %s', (said) => {
  const runs = [run('Auto', { exitCode: 1, stdout: '', stderr: `${said}\n` })];
  expect(judgeBaseline(runs, 'Auto')).toMatchObject({ accepted: false, class: 'InvalidInput', reasons: [{ code: 'RunnerMissing' }] });
});

test('a baseline of which output was dropped is refused before budget is spent', () => {
  const runs = [run('Pytest', output(1, 'a.py::a FAILED\n', { truncated: true }))];
  expect(judgeBaseline(runs, 'Auto')).toMatchObject({ accepted: false, class: 'InvalidInput', reasons: [{ code: 'TooLarge' }] });
});

test('a result may not have another or a weaker format than the baseline', () => {
  const weaker = quiet('4 passed in 0.1s\n', 0);
  expect(codes(compare(baseline, weaker, 'Auto').reasons)).toContain('EvidenceChanged');
  expect(codes(compare(baseline, run('Exit', output(0, '')), 'Auto').reasons)).toContain('FormatChanged');
});

test('by exit code alone a command has to fail and then pass', () => {
  const fails = [run('Exit', output(1, ''))];
  expect(compare(fails, run('Exit', output(0, '')), 'Auto')).toMatchObject({ proved: true, evidence: 'Exit', newlyPassing: [wholeRun] });
  expect(compare(fails, run('Exit', output(2, '')), 'Auto').proved).toBe(false);
  const broken = compare([run('Exit', output(0, ''))], run('Exit', output(1, '')), 'Auto');
  expect(broken).toMatchObject({ proved: false, regressed: [wholeRun] });
  expect(broken.reasons[0]?.message).toBe('check unit: the command passed at the baseline and fails now');
});

test('a test per name: renaming all of many takes no quadratic time, and reasons stay few', () => {
  const many = (prefix: string, outcome: 'Failed' | 'Passed'): Rendered =>
    Array.from({ length: 60_000 }, (_, at) => [`${prefix}.py::t${at}`, outcome]);
  const verdict = compare([pytestRun(many('a', 'Failed'))], pytestRun(many('b', 'Passed')), 'Auto');
  expect(verdict.missing).toHaveLength(60_000);
  expect(verdict.reasons).toHaveLength(12);
});
