import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { countTests, type ParsedResults } from './results.ts';
import { file, output } from '../testdata/render.ts';
import { parseResults } from './index.ts';

const fixture = (name: string): string => readFileSync(new URL(`../testdata/${name}`, import.meta.url), 'utf8');
const codes = ({ problems }: ParsedResults): string[] => problems.filter(({ severity }) => severity === 'Distrust').map(({ code }) => code);

test('Maven: failing tests have the name of their class, and what they said', () => {
  const results = parseResults('Auto', output(1, fixture('maven.txt')));
  expect(results).toMatchObject({ evidence: 'Counts', complete: true });
  expect(results.tests.map(({ id, outcome }) => [id, outcome])).toEqual([
    ['org.example.text.NotesTest.testOrder', 'Failed'],
    ['org.example.text.NotesTest.testSlow', 'Errored'],
  ]);
  expect(results.tests[0]?.message).toContain('AssertionFailedError');
});

const build = (text: string, end = 'SUCCESS'): string =>
  `[INFO] --- surefire:3.5.3:test (default-test) @ a ---\n${text}\n[INFO] BUILD ${end}\n`;
const ran = '[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0';
test.each([
  ['whole', build(ran), 0, []],
  ['of another version', build(`[ERROR] t(a.B)  Time elapsed: 0.01 s  <<< FAILURE!\n${ran.replace('es: 0', 'es: 1')}`, 'FAILURE'), 1, []],
  ['without an end', `${ran}\n`, 0, ['Incomplete']],
  ['that does not compile', '[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal x: Compilation failure\n', 1, ['Incomplete']],
  ['that hides a failure', build(ran.replace('es: 0', 'es: 1')), 0, ['NamesMissing', 'ExitHidesFailure']],
] as const)('a build of Maven %s', (_, text, exitCode, problems) => {
  expect(codes(parseResults('Maven', output(exitCode, text)))).toEqual(problems);
});

test('a build of Maven that is quiet is read by its exit code: it prints no sum when all tests pass', () => {
  const quiet = fixture('maven.txt').replaceAll(/^\[INFO\].*\n/gm, '');
  expect(parseResults('Auto', output(1, quiet)).format).toBe('Exit');
});

test('ctest: what a failing test printed is its message', () => {
  const results = parseResults('Auto', output(8, fixture('ctest.txt')));
  expect(results).toMatchObject({ evidence: 'Tests', complete: true });
  expect(results.tests.find(({ id }) => id === 'test_null')?.message).toMatch(/^ERROR: "test_null[^]*expected"$/);
  expect(results.tests.find(({ id }) => id === 'gone')?.outcome).toBe('Errored');
});

test('Meson: suites are left out of names, and the end of what a failing test printed is its message', () => {
  const results = parseResults('Auto', output(4, fixture('meson.txt')));
  expect(results.tests.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
    'quick Passed',
    'a skip Skipped',
    'an error Errored',
    'sqlitecpp unit tests Failed',
    'known Passed',
    'crash Failed',
    'too slow Errored',
  ]);
  expect(results.tests[3]?.message).toMatch(/Backup_test.cpp:55: Failure[^]*1 FAILED TEST$/);
});

test('GoogleTest: what a failing test printed is its message, and its parameter is no part of its name', () => {
  const { tests } = parseResults('Auto', output(1, fixture('googletest.txt')));
  expect(tests.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
    'Savepoint.commitRollback Passed',
    'Backup.initException Passed',
    'Backup.executeStepOne Failed',
    'Backup/Steps.executeAll/1 Failed',
    'Backup.executeStepException Skipped',
  ]);
  expect(tests[2]?.message).toMatch(/^[^\n]*Backup_test.cpp:55: Failure\n[^]*2$/);
});

const gtest = (points: string, all: number, failed = ''): string =>
  `[==========] Running ${all} tests from 1 test suite.\n${points}[==========] ${all} tests from 1 test suite ran. (9 ms total)\n${failed}`;
test.each([
  ['whole', gtest('[       OK ] A.b (0 ms)\n', 1), 0, []],
  ['without a sum', '[       OK ] A.b (0 ms)\n', 0, ['Incomplete']],
  ['with a test that another printed', gtest('[       OK ] A.b (0 ms)\n[       OK ] A.c (0 ms)\n', 1), 0, ['CountsDisagree']],
  [
    'that counts a failure more',
    gtest('[       OK ] A.b (0 ms)\n', 1, '[  FAILED  ] 1 test, listed below:\n'),
    1,
    ['CountsDisagree', 'ExitDisagrees'],
  ],
  ['of two programs', gtest('[       OK ] A.b (0 ms)\n', 1).repeat(2), 0, []],
] as const)('a run of GoogleTest %s', (_, text, exitCode, problems) => {
  expect(codes(parseResults('GoogleTest', output(exitCode, text)))).toEqual(problems);
});

test.each([
  ['catch2.txt', 'CHECK( add(1, 1) == 4 )'],
  ['doctest.txt', 'CHECK( add(1, 1) == 4 ) is NOT correct!'],
])('%s: a test that fails in two sections is one, by its whole name', (name, message) => {
  const { tests } = parseResults('Auto', output(1, fixture(name)));
  const long = 'sections of a name that is long enough to be wrapped by the reporter at its eighty columns';
  expect(tests.map(({ id }) => id)).toEqual([long, 'throws']);
  expect(tests[0]?.message).toBe(message);
});

test.each([
  ['Catch2', '===\nAll tests passed (4 assertions in 3 test cases)\n\n', { passed: 3 }],
  ['Doctest', '[doctest] test cases: 1 | 1 passed | 0 failed | 3 skipped\n[doctest] Status: SUCCESS!\n', { passed: 1, skipped: 3 }],
] as const)('a run of %s in which all tests pass', (format, text, counts) => {
  const results = parseResults('Auto', output(0, text));
  expect(results).toMatchObject({ format, unnamed: counts });
  expect(codes(results)).toEqual([]);
});

const told = (ok: number, fail: number): string => `\nOk:                 ${ok}   \nFail:               ${fail}   \n`;
test.each([
  ['whole', `1/1 a   OK              0.04s\n${told(1, 0)}`, 0, []],
  ['without a sum', '1/1 a   OK              0.04s\n', 0, ['Incomplete']],
  ['with a test that another printed', `1/1 a OK 0.04s\n1/1 b OK 0.04s\n${told(1, 0)}`, 0, ['CountsDisagree']],
  ['that hides a failure', `1/1 a FAIL 0.04s   exit status 1\n${told(0, 1)}`, 0, ['ExitHidesFailure']],
  ['that counts one failure more', `1/1 a OK 0.04s\n${told(1, 1)}`, 1, ['CountsDisagree', 'ExitDisagrees']],
] as const)('a run of Meson %s', (_, text, exitCode, problems) => {
  expect(codes(parseResults('Meson', output(exitCode, text)))).toEqual(problems);
});

const point = (name: string, word = '   Passed'): string => `1/1 Test #1: ${name} ..........${word}    0.01 sec\n`;
test.each([
  ['whole', `Test project /b\n${point('a')}\n100% tests passed, 0 tests failed out of 1\n`, 0, []],
  ['of a newer version', `Test project /b\n${point('a')}\n100% tests passed out of 1\n`, 0, []],
  ['without a sum', `Test project /b\n${point('a')}`, 0, ['Incomplete']],
  ['with a test that another printed', `Test project /b\n${point('a')}${point('b')}\n100% tests passed out of 1\n`, 0, ['CountsDisagree']],
  [
    'with a sum that a test printed',
    `Test project /b\n${point('a')}${'100% tests passed out of 1\n'.repeat(2)}`,
    0,
    ['TwoSummaries', 'CountsDisagree'],
  ],
] as const)('a run of ctest %s', (_, text, exitCode, problems) => {
  expect(codes(parseResults('CTest', output(exitCode, text)))).toEqual(problems);
});

const report = (folder: string, failed = ''): ReturnType<typeof file> =>
  file(
    `${folder}/TEST-p.ATest.xml`,
    `<testsuite name="p.ATest" tests="3" skipped="0" failures="${failed === '' ? 0 : 1}" errors="0"><testcase name="one() in words" classname="p.ATest$Inner">${failed}</testcase><testcase name="two(int)[1]" classname="p.ATest"/><testcase name="two(int)[2]" classname="p.ATest"/></testsuite>`,
  );

test('Gradle: tests of one name in two modules, or two tasks, are two', () => {
  const folders = ['build/test-results/test', 'libs/core/build/test-results/test', 'libs/core/build/test-results/slowTest'];
  const files = folders.map((folder) => report(folder, folder.startsWith('build') ? '<failure message="no"/>' : ''));
  const results = parseResults('Auto', output(1, '3 tests completed, 1 failed\n', { files }));
  expect(codes(results)).toEqual([]);
  expect(results.tests.map(({ id }) => id)).toEqual(
    ['', 'libs/core > ', 'libs/core > slowTest > '].flatMap((place) =>
      ['p.ATest$Inner > one() in words', 'p.ATest > two(int)[1]', 'p.ATest > two(int)[2]'].map((name) => place + name),
    ),
  );
});

test.each(['pytest-rA.txt', 'vitest-text.txt', 'go-v.txt', 'maven.txt'])('reports of Gradle take no place of %s', (name) => {
  const said = output(1, fixture(name));
  expect(parseResults('Auto', { ...said, files: [report('build/test-results/test')] })).toEqual(parseResults('Auto', said));
});

test('JUnit: a parameter without words of its own has one name in all runs', () => {
  const idOf = (name: string): readonly string[] => {
    const xml = `<testsuite name="p.A" tests="1"><testcase name="${name}" classname="p.A"/></testsuite>`;
    return parseResults('JUnit', output(0, '', { files: [file('r.xml', xml)] })).tests.map(({ id }) => id);
  };
  expect(idOf('[1] p.Point@1b28cdfa, 3')).toEqual(idOf('[1] p.Point@7a5d012, 3'));
  expect(idOf('f(Fn)[p.A$$Lambda$14/0x00000008000b5840@3fb6a447]')).toEqual(idOf('f(Fn)[p.A$$Lambda$15/0x0000000800c03c18@2ff4acd0]'));
  expect(idOf('[1] p.Point@1b28cdfa, 3')).not.toEqual(idOf('[2] p.Point@1b28cdfa, 3'));
  expect(idOf('writes to a@example.org')).toEqual(['p.A > writes to a@example.org']);
});

const reported = [report('build/test-results/test', '<failure message="no"/>')];
test.each([
  ['that name what it counts', '3 tests completed, 1 failed\n', reported, []],
  ['of one of two tasks that fail', '3 tests completed, 1 failed\n\n4 tests completed, 2 failed, 1 skipped\n', reported, ['NamesMissing']],
  ['that name no failure', '3 tests completed, 1 failed\n', [report('build/test-results/test')], ['NamesMissing', 'ExitDisagrees']],
  ['that are not there', '/workspace/A.java:3: error: no\nBUILD FAILED in 2s\n', [], ['Incomplete']],
] as const)('a build of Gradle that fails, with reports %s', (_, text, files, problems) => {
  const results = parseResults('JUnit', output(1, '', { stderr: text, stdout: text.includes('error') ? text : '', files }));
  expect(codes(results)).toEqual(problems);
  if (files.length === 0) expect(results.problems[0]?.message).toBe('/workspace/A.java:3: error: no');
});

test.each(['packages/$ test', '@a/$:test', '@a/$', '[@a/$]'])(
  'packages that are tested side by side, each line with %s in front, are read apart',
  (name) => {
    const lines = [
    'core FAIL src/sum.test.ts', 'web FAIL src/page.test.ts', 'core   ● sum › adds', 'web   ● page › opens', 'core ', 'core     boom', 'web ', 'web     bang', 'web PASS src/sum.test.ts',
    'core Tests:       1 failed, 2 passed, 3 total', 'web Tests:       1 failed, 4 passed, 5 total',
  ]; // prettier-ignore
    const of = (one: string): string => name.replace('$', one);
    const printed = lines.map((line) => line.replace(/^\S+/, (one) => `${of(one)}:`)).join('\n');
    const results = parseResults('Auto', output(1, `> turbo run test\n${printed}\nERROR: run failed\n`));
    expect(results).toMatchObject({ format: 'Jest', complete: true, problems: [] });
    expect(countTests(results)).toEqual({ passed: 6, failed: 2, skipped: 0, errored: 0 });
    expect(results.tests.map(({ id, message }) => [id, message])).toEqual([
      [`${of('core')} src/sum.test.ts > sum › adds`, 'boom'],
      [`${of('web')} src/page.test.ts > page › opens`, 'bang'],
    ]);
  },
);

test.each([
  ['of two packages are added', '  4 passing (1ms)\n\n  2 passing (3s)\n  1 pending\n', 0, { passed: 6, skipped: 1 }, []],
  ['of a workspace in pnpm', 'packages/a test:       Tests  4 passed | 1 skipped (5)\npackages/b test: Tests:       2 passed, 2 total\n', 0, { passed: 4, skipped: 1 }, []],
  ['that count more than is named', '  4 passing (1ms)\n  2 failing\n\n  1) s\n       t:\n     Error: no\n', 1, { passed: 4, failed: 2 }, ['NamesMissing']],
  ['that count less than is named', ' FAIL  a > b\nError: no\n FAIL  a > c\nError: no\n      Tests  1 failed | 1 passed (2)\n', 1, { passed: 1, failed: 2 }, ['CountsDisagree']],
  ['with a name that stands twice, of one test or of two', ' FAIL  a > b\nE: 1\n FAIL  a > b\nE: 2\n      Tests  2 failed | 1 passed (3)\n', 1, { passed: 1, failed: 2 }, []],
  ['of PHPUnit without a failure', 'OK (3 tests, 4 assertions)\n', 0, { passed: 3 }, []],
  ['of PHPUnit with skipped tests', 'Tests: 3, Assertions: 1, Skipped: 1, Incomplete: 1.\n', 0, { passed: 1, skipped: 2 }, []],
  ['of PHPUnit with an error of its own', 'There was 1 PHPUnit error:\n\n1) A::b\nThe data provider is invalid\n\nERRORS!\nTests: 2, Assertions: 1, Errors: 1.\n', 2, { passed: 1, errored: 1 }, []],
  ['of one example', '1 example, 0 failures\n', 0, { passed: 1 }, []],
  ['that hide a failure', 'FAIL a.js\n  ● x\n\n    no\n\nTests:       1 failed, 1 total\n', 0, { failed: 1 }, ['ExitHidesFailure']],
] as const)('sums %s', (_, text, exitCode, counts, problems) => {
  const results = parseResults('Auto', output(exitCode, text));
  expect(countTests(results)).toEqual({ passed: 0, failed: 0, skipped: 0, errored: 0, ...counts });
  expect(codes(results)).toEqual(problems);
}); // prettier-ignore

test.each([
  ['vitest-text.txt', { 'test/sum.test.js': 8, 'test/deep/ok2.test.js': 1, 'test/broken.test.js': 0, 'test/deep/ok.test.js': 2 }],
  ['maven.txt', { 'org.example.EscapingTest': 1, 'org.example.text.NotesTest': 3, 'org.example.text.MarkdownTest': 7 }],
  ['mocha.txt', {}],
])('files that are counted in %s', (name, files) => {
  expect(Object.fromEntries(parseResults('Auto', output(1, fixture(name))).files ?? [])).toEqual(files);
});

test('files that Jest names, whatever they took', () => {
  const { files = new Map<string, number>() } = parseResults('Auto', output(1, fixture('jest-projects.txt')));
  expect([files.size, files.get('web packages/web/test/w9.test.js'), files.get('core packages/core/test/sum.test.js')]).toEqual([12, 1, 1]);
  const text = (heap: string): string =>
    `PASS a.test.js (5.2 s${heap})\n\nTest Suites: 1 passed, 1 total\nTests:       3 passed, 3 total\n`;
  for (const heap of ['', ', 120 MB heap size'])
    expect([...(parseResults('Auto', output(0, text(heap))).files ?? [])]).toEqual([['a.test.js', 1]]);
});
