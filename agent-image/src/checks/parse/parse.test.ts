import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { countTests, resultFormats, trusted, type Outcome, type ParsedResults } from './results.ts';
import { file, output } from '../testdata/render.ts';
import { parseResults } from './index.ts';

const fixture = (name: string): string => readFileSync(new URL(`../testdata/${name}`, import.meta.url), 'utf8');
const outcomeOf = (results: ParsedResults, id: string): Outcome | undefined => results.tests.find((one) => one.id === id)?.outcome;
const codes = ({ problems }: ParsedResults): string[] => problems.filter(({ severity }) => severity === 'Distrust').map(({ code }) => code);

test.each([
  ['pytest-rA.txt', 'Pytest', { passed: 9, failed: 2, skipped: 3, errored: 2 }],
  ['pytest-v.txt', 'Pytest', { passed: 9, failed: 2, skipped: 3, errored: 2 }],
  ['pytest-xdist.txt', 'Pytest', { passed: 9, failed: 2, skipped: 3, errored: 2 }],
  ['pytest-color.txt', 'Pytest', { passed: 9, failed: 2, skipped: 3, errored: 2 }],
  ['pytest-q.txt', 'Pytest', { passed: 11, failed: 2, skipped: 3, errored: 2 }],
  ['pytest-collect.txt', 'Pytest', { passed: 0, failed: 0, skipped: 0, errored: 1 }],
  ['node-tap.txt', 'NodeTest', { passed: 9, failed: 2, skipped: 3, errored: 1 }],
  ['bats.txt', 'TAP', { passed: 2, failed: 2, skipped: 1, errored: 0 }],
  ['go-json.txt', 'GoTest', { passed: 9, failed: 3, skipped: 1, errored: 1 }],
  ['cargo.txt', 'CargoTest', { passed: 7, failed: 1, skipped: 3, errored: 0 }],
  ['cargo-shown.txt', 'CargoTest', { passed: 7, failed: 1, skipped: 3, errored: 0 }],
  ['cargo-q.txt', 'CargoTest', { passed: 7, failed: 1, skipped: 3, errored: 0 }],
  ['maven.txt', 'Maven', { passed: 9, failed: 1, skipped: 0, errored: 1 }],
  ['ctest.txt', 'CTest', { passed: 2, failed: 1, skipped: 1, errored: 1 }],
  ['meson.txt', 'Meson', { passed: 2, failed: 2, skipped: 1, errored: 2 }],
  ['googletest.txt', 'GoogleTest', { passed: 2, failed: 2, skipped: 1, errored: 0 }],
  ['catch2.txt', 'Catch2', { passed: 2, failed: 2, skipped: 0, errored: 0 }],
  ['doctest.txt', 'Doctest', { passed: 2, failed: 2, skipped: 0, errored: 0 }],
  ['vitest-text.txt', 'Vitest', { passed: 6, failed: 2, skipped: 3, errored: 1 }],
  ['jest.txt', 'Jest', { passed: 6, failed: 3, skipped: 2, errored: 1 }],
  ['jest-projects.txt', 'Jest', { passed: 23, failed: 1, skipped: 0, errored: 1 }],
  ['mocha.txt', 'Mocha', { passed: 6, failed: 2, skipped: 2, errored: 0 }],
  ['rspec.txt', 'RSpec', { passed: 1, failed: 3, skipped: 2, errored: 0 }],
  ['rspec-broken.txt', 'RSpec', { passed: 0, failed: 0, skipped: 0, errored: 1 }],
  ['minitest.txt', 'Minitest', { passed: 1, failed: 1, skipped: 1, errored: 1 }],
  ['minitest-spec.txt', 'Minitest', { passed: 1, failed: 2, skipped: 1, errored: 1 }],
  ['test-unit.txt', 'TestUnit', { passed: 1, failed: 2, skipped: 2, errored: 1 }],
  ['phpunit.txt', 'PHPUnit', { passed: 2, failed: 2, skipped: 1, errored: 1 }],
] as const)('counts what %s says, as Auto finds it', (name, format, counts) => {
  const results = parseResults('Auto', output(1, fixture(name)));
  expect(results).toMatchObject({ format, complete: true });
  expect(codes(results)).toEqual([]);
  expect(countTests(results)).toEqual(counts);
});

test('bats: of several runs in a makefile each test keeps its name and its reason, with times too', () => {
  const results = parseResults('Auto', output(2, fixture('bats.txt')));
  expect(results.tests.map(({ id }) => id)).toEqual(['adds: one', 'skips', 'fails # with hash', 'b: multiplies', 'b: divides']);
  expect(results.tests.at(-1)?.message).toMatch(/^\(in test file test\/b\.bats, line 2\)\n.*\ngot 3$/);
  const timed = fixture('bats.txt').replaceAll(/^((?:not )?ok \d .*?)(?= # skip|$)/gm, '$1 in 12ms');
  expect(parseResults('Auto', output(2, timed)).tests.map(({ id }) => id)).toEqual(results.tests.map(({ id }) => id));
});

test('TAP: a second plan before the first is kept is not believed, nor are repeated numbers of one run', () => {
  expect(codes(parseResults('TAP', output(0, '1..2\nok 1 - a\n1..1\nok 1 - b\n')))).toContain('CountsDisagree');
  expect(codes(parseResults('TAP', output(0, '1..1\nok 1 - a\n1..2\nok 1 - b\nok 1 - c\n')))).toEqual(['CountsDisagree']);
  expect(codes(parseResults('TAP', output(0, '1..1\nok 1 - a\n1..2\nok 1 - b\n')))).toEqual(['Incomplete']);
  expect(parseResults('Auto', output(0, 'prints 1..2\nok\n')).format).toBe('Exit');
});

test('pytest ids keep parametrised names, and text in captured output is no result', () => {
  const results = parseResults('Pytest', output(1, fixture('pytest-rA.txt')));
  expect(outcomeOf(results, 'tests/test_calc.py::test_names[x - y]')).toBe('Passed');
  expect(outcomeOf(results, 'tests/test_calc.py::test_names[tests/x::y PASSED]')).toBe('Passed');
  expect(outcomeOf(results, 'tests/test_calc.py::test_add[1-2-3]')).toBe('Failed');
  expect(outcomeOf(results, 'tests/test_calc.py::Old::test_sub')).toBe('Failed');
  expect(outcomeOf(results, 'tests/test_calc.py::test_teardown')).toBe('Errored');
  expect(outcomeOf(results, 'tests/test_calc.py::test_expected')).toBe('Skipped');
});

test('without names only failures are listed, and the lack of passing names is reported', () => {
  const results = parseResults('Pytest', output(1, fixture('pytest-q.txt')));
  expect(results.evidence).toBe('Counts');
  expect(results.problems.map(({ code, severity }) => `${severity} ${code}`)).toEqual(['Note NamesMissing']);
});

test('lines that tests print with -s are no results', () => {
  const results = parseResults('Pytest', output(1, fixture('pytest-vs.txt')));
  expect(results.evidence).toBe('Counts');
  expect(outcomeOf(results, 'tests/test_calc.py::test_add[1-2-3]')).toBe('Failed');
});

test('the JUnit file is preferred to the text, and both must agree', () => {
  const xml = fixture('pytest.xml');
  const good = parseResults('Auto', output(1, fixture('pytest-color.txt'), { files: [file('pytest.xml', xml)] }));
  expect(good).toMatchObject({ format: 'Pytest', source: 'Files' });
  expect(codes(good)).toEqual([]);
  const forged = '<testsuites><testsuite name="pytest" tests="1"><testcase classname="a" name="b"/></testsuite></testsuites>';
  expect(codes(parseResults('Pytest', output(1, fixture('pytest-color.txt'), { files: [file('r.xml', forged)] })))).toEqual([
    'SourcesDisagree',
    'ExitDisagrees',
  ]);
});

test('vitest: a file that cannot be loaded is a result under its name', () => {
  const results = parseResults('Auto', output(1, '', { files: [file('vitest.xml', fixture('vitest.xml'))] }));
  expect(results.format).toBe('JUnit');
  expect(codes(results)).toEqual([]);
  expect(outcomeOf(results, 'b.test.ts')).toBe('Failed');
  expect(outcomeOf(results, 'a.test.ts > outer > fails <&>"')).toBe('Failed');
  expect(results.tests).toHaveLength(8);
});

test('one test both passing and failing in two report files is refused', () => {
  const suite = (inner: string): string => `<testsuite name="s" tests="1"><testcase classname="c" name="t">${inner}</testcase></testsuite>`;
  const files = [file('a.xml', suite('')), file('b.xml', suite('<failure/>'))];
  expect(codes(parseResults('JUnit', output(1, '', { files })))).toEqual(['ConflictingResult']);
});

test.each([
  ['an external entity', '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><testsuite name="&e;"><testcase name="a"/></testsuite>'],
  [
    'entity expansion',
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>',
  ],
  ['deep nesting', `${'<testsuite>'.repeat(5000)}${'</testsuite>'.repeat(5000)}`],
  ['another root', '<html><testcase name="a"/></html>'],
  ['two roots', '<testsuite><testcase name="a"/></testsuite><testsuite><testcase name="b"/></testsuite>'],
  ['nothing', ''],
])('a JUnit file with %s is not believed', (_, xml) => {
  const results = parseResults('JUnit', output(0, '', { files: [file('r.xml', xml)] }));
  expect(results.complete).toBe(false);
  expect(trusted(results)).toBe(false);
});

test('captured output may hold a DOCTYPE and text that looks like results', () => {
  const out = '<system-out><![CDATA[<!DOCTYPE html><testcase name="forged"/>]]></system-out>';
  const results = parseResults(
    'JUnit',
    output(0, '', { files: [file('r.xml', `<testsuite tests="1"><testcase name="&#97;&amp;lt;">${out}</testcase></testsuite>`)] }),
  );
  expect(codes(results)).toEqual([]);
  expect(results.tests.map(({ id }) => id)).toEqual(['a&lt;']);
});

test.each([
  ['1..2\nok 1 - a\nok 2 - b\n', 0, []],
  ['TAP version 14\nok 1\nnot ok 2 # TODO later\n1..2\n', 0, []],
  ['1..2\nok 1 - a\n', 0, ['Incomplete']],
  ['1..1\nok 1 - a\nok 2 - b\n', 0, ['CountsDisagree']],
  ['ok 1 - a\n', 0, ['Incomplete']],
  ['1..1\n1..2\nok 1 - a\n', 0, ['CountsDisagree']],
  ['1..2\nok 1 - a\nok 1 - b\n', 0, ['CountsDisagree']],
  ['1..3\nok 1 - a\nBail out! no database\n', 1, ['BailedOut']],
  ['1..0 # SKIP nothing here\n', 0, ['NoTests']],
  ['1..1\nok 1 - a', 0, ['Incomplete']],
  ['1..1\nnot ok 1 - a\n', 0, ['ExitHidesFailure']],
  ['1..1\nok 1 - a\n', 1, ['ExitDisagrees']],
  ['# Subtest: x\n    ok 1 - y\n    1..2\nok 1 - x\n1..1\n', 0, ['CountsDisagree']],
])('TAP %j', (text, exitCode, problems) => {
  expect(codes(parseResults('TAP', output(exitCode, text)))).toEqual(problems);
});

test('TAP subtests have the names of their parents, escapes and directives are read', () => {
  const text =
    '# Subtest: outer\r\n    # Subtest: in \\# ner\r\n    not ok 1 - in \\# ner # skip why\r\n    1..1\r\nok 1 - outer\r\nok 2 - b\\\\c # Todo\r\n1..2\r\n';
  const results = parseResults('TAP', output(0, text));
  expect(results.tests.map(({ id, outcome, kind }) => [id, outcome, kind])).toEqual([
    ['outer > in # ner', 'Skipped', 'Test'],
    ['outer', 'Passed', 'Group'],
    ['b\\c', 'Passed', 'Test'],
  ]);
});

test.each([
  ['no times', ''],
  ['times', ' # time=6.86ms'],
  ['times in seconds', ' # time=1.2s'],
])('TAP with %s has the same ids, flat and in braces', (_, time) => {
  const flat = `TAP version 13\n1..3\nnot ok 1 - a.js > s > x${time}\n    ---\n    error:\n        name: "E"\n    ...\nok 2 - y # SKIP${time}\nok 3 - z { # 1${time}\n`;
  expect(parseResults('TAP', output(1, flat)).tests.map(({ id, outcome }) => [id, outcome])).toEqual([
    ['a.js > s > x', 'Failed'],
    ['y', 'Skipped'],
    ['z { # 1', 'Passed'],
  ]);
  const inner = `        1..2\n        not ok 1 - x${time}\n            ---\n            at: "here"\n            ...\n        ok 2 - y${time}\n`;
  const braces = `TAP version 13\n1..2\nnot ok 1 - a.js${time} {\n    1..1\n    not ok 1 - s${time} {\n${inner}    }\n}\nok 2 - b.js${time}\n`;
  const read = parseResults('TAP', output(1, braces));
  expect(codes(read)).toEqual([]);
  expect(read.tests.map(({ id, outcome, kind }) => [id, outcome, kind])).toEqual([
    ['a.js > s > x', 'Failed', 'Test'],
    ['a.js > s > y', 'Passed', 'Test'],
    ['a.js > s', 'Failed', 'Group'],
    ['a.js', 'Failed', 'Group'],
    ['b.js', 'Passed', 'Test'],
  ]);
});

test.each([
  ['bats --timing', '1..2\nok 1 adds # one in 41ms\nnot ok 2 in 5ms in 4ms # skip why\n', ['adds # one', 'in 5ms']],
  ['another producer', '1..1\nok 1 - answers in 5ms\n', ['answers in 5ms']],
  ['busted', 'ok 1 - calc adds\nok 2 - # SKIP calc later\n1..2\n', ['calc adds', 'calc later']],
  ['Test::More', 'ok 1\nok 2 # skip no\nnot ok 3 - todo # TODO later\n#   at t/b.t\n1..3\n', ['test 1', 'test 2', 'todo']],
])('TAP of %s has the names of tests alone', (_, text, ids) => {
  const { format, tests } = parseResults('Auto', output(0, text));
  expect([format, ...tests.map(({ id }) => id)]).toEqual(['TAP', ...ids]);
});

test('the time of a TAP point is its duration', () => {
  const read = parseResults('TAP', output(0, '1..2\nok 1 - a # time=250ms\nok 2 - b # time=1.5s # TODO\n'));
  expect(read.tests.map(({ id, seconds }) => [id, seconds])).toEqual([
    ['a', 0.25],
    ['b', 1.5],
  ]);
});

test.each([
  ['that is not closed', '1..1\nok 1 - a {\n    1..1\n    ok 1 - b\n', ['CountsDisagree']],
  ['with a result of the level above', '1..2\nok 1 - a {\n    1..1\n    ok 1 - b\nok 2 - c\n}\n', ['CountsDisagree']],
  ['with fewer results than planned', '1..1\nok 1 - a {\n    1..2\n    ok 1 - b\n}\n', ['CountsDisagree']],
  ['of a point after its report', '1..1\nok 1 - a\n  ---\n  x: y\n  ...\n{\n    1..1\n    ok 1 - b\n}\n', []],
  ['of a printed object', '1..2\nok 1 - a\n{\n    "b": {\n}\nok 2 - c\n', []],
  ['that opens nothing', '1..2\nok 1 - a {\nok 2 - b }\n', []],
] as const)('a TAP brace %s', (_, text, problems) => {
  expect([...new Set(codes(parseResults('TAP', output(0, text))))]).toEqual(problems);
});

test('a failing todo in a suite of node:test is a listed failure, and skipped', () => {
  const later = '<testcase name="later" classname="s"><skipped type="todo" message="true"/><failure message="no"/></testcase>';
  const suite = `<testsuite name="s" tests="2" failures="1" skipped="1"><testcase name="a" classname="s"/>${later}</testsuite>`;
  const read = parseResults('NodeTest', output(0, `<testsuites>${suite}</testsuites>`));
  expect(codes(read)).toEqual([]);
  expect(outcomeOf(read, 's > later')).toBe('Skipped');
  expect(codes(parseResults('NodeTest', output(0, `<testsuites>${suite.replace(later, '<testcase name="b"/>')}</testsuites>`)))).toEqual([
    'CountsDisagree',
  ]);
});

test.each([
  ['no line end▶ suite\n  ▶ inner\n', 'suite > inner'],
  ['a ▶ b▶ suite\n  ▶ inner\n', 'suite > inner'],
  ['▶ suite\n  ✔ b (1ms)\nno line end  ▶ inner\n', 'suite > inner'],
  ['▶ suite\n  ▶ in ▶ ner\n', 'suite > in ▶ ner'],
])('a group of node:test has its name after %j', (text, id) => {
  const end = `    ✔ a (1ms)\n  ✔ ${id.slice(8)} (1ms)\n✔ suite (1ms)\n`;
  const ids = parseResults('NodeTest', output(0, `${text}${end}`)).tests.map((one) => one.id);
  expect(ids).toEqual(expect.arrayContaining([`${id} > a`, id, 'suite']));
});

test('printed lines make the spec reporter of node:test disagree with its summary', () => {
  expect(codes(parseResults('NodeTest', output(1, fixture('node-spec.txt'))))).toEqual(['CountsDisagree']);
  expect(codes(parseResults('NodeTest', output(1, fixture('node-tap.txt'))))).toEqual([]);
});

test('a printed PASS of a failing Go test is a conflict in text and nothing in events', () => {
  expect(codes(parseResults('GoTest', output(1, fixture('go-v.txt'))))).toEqual(['ConflictingResult']);
  const events = parseResults('GoTest', output(1, fixture('go-json.txt')));
  expect(outcomeOf(events, 'example.test/m/a TestAdd')).toBe('Failed');
  expect(outcomeOf(events, 'example.test/m/c')).toBe('Errored');
});

const goParent = '=== RUN   TestParent\nworking...=== RUN   TestParent/sub\n';
test.each([
  [
    'whose parent left its line open',
    `${goParent}--- PASS: TestParent (0.00s)\n    --- PASS: TestParent/sub (0.00s)\nok  \tp\t0.01s\n`,
    0,
    [],
  ],
  ['that goes on in the middle of a line', `=== RUN   TestA\na.=== CONT  TestA\nb.--- PASS: TestA (0.00s)\nok  \tp\t0.01s\n`, 0, []],
  ['and a TestMain that left its line open', 'setup...=== RUN   TestA\n--- PASS: TestA (0.00s)\nok  \tp\t0.01s\n', 0, []],
  ['that never ends', `${goParent}--- PASS: TestParent (0.00s)\nok  \tp\t0.01s\n`, 0, ['CountsDisagree', 'ExitHidesFailure']],
  [
    'of no test that runs',
    '=== RUN   TestA\nx=== RUN   TestB\n--- PASS: TestA (0.00s)\n--- PASS: TestB (0.00s)\nok  \tp\t0.01s\n',
    0,
    ['ConflictingResult'],
  ],
] as const)('a Go subtest %s', (_, text, exitCode, problems) => {
  expect(codes(parseResults('GoTest', output(exitCode, text)))).toEqual(problems);
});

test('go test without -v names packages only', () => {
  const results = parseResults('Auto', output(1, fixture('go.txt')));
  expect(results).toMatchObject({ format: 'GoTest', evidence: 'Exit' });
  expect(results.tests.map(({ id }) => id)).toEqual(['example.test/m/a', 'example.test/m/c', 'example.test/m/d']);
});

test('cargo test: ids are paths of tests, without the line of those of the documentation', () => {
  const results = parseResults('Auto', output(101, fixture('cargo.txt'), { stderr: fixture('cargo-stderr.txt') }));
  expect(results).toMatchObject({ evidence: 'Tests', complete: true, stopped: true });
  expect(codes(results)).toEqual([]);
  expect(results.tests.map(({ id, outcome }) => `${id}: ${outcome}`).sort()).toEqual([
    'src/lib.rs - add - compile: Passed',
    'src/lib.rs - add - should panic: Passed',
    'src/lib.rs - add: Passed',
    'src/lib.rs - sub - compile fail: Passed',
    'src/lib.rs - sub: Skipped',
    'tests::later2: Skipped',
    'tests::later: Skipped',
    'tests::panics - should panic: Passed',
    'tests::sum: Failed',
    'tests::zero: Passed',
    'works: Passed',
  ]);
  expect(results.tests.find(({ id }) => id === 'tests::sum')?.message).toContain('left: -1');
  expect(parseResults('Auto', output(101, fixture('cargo-q.txt')))).toMatchObject({ evidence: 'Counts', tests: [{ id: 'tests::sum' }] });
});

const cargo = (points: string, counts: string): string => `\nrunning 1 test\n${points}\ntest result: ${counts}; finished in 0.00s\n\n`;
const oneOk = 'ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out';
test.each([
  ['whole', cargo('test a ... ok\n', oneOk), []],
  ['with a line that a program left open', cargo('working...test a ... ok\n', oneOk), []],
  ['with a time', cargo('test a ... ok <0.001s>\n', oneOk), []],
  ['with one test in two lines', cargo('test a ... \nok\n', oneOk), []],
  ['with a test that is printed besides', cargo('test a ... ok\ntest b ... ok\n', oneOk), []],
  ['with another number', cargo('test a ... ok\n', oneOk.replace('1', '2')), ['CountsDisagree']],
  ['that ends in its tests', '\nrunning 2 tests\ntest a ... ok\n', ['Incomplete']],
  ['cut in its last line', cargo('test a ... ok\n', oneOk).trimEnd(), ['Incomplete', 'Incomplete']],
  ['with a second result', `${cargo('test a ... ok\n', oneOk)}test result: ${oneOk}\n`, ['TwoSummaries']],
  ['with a run in a run', `\nrunning 1 test\n${cargo('test a ... ok\n', oneOk)}`, ['CountsDisagree', 'Incomplete']],
  ['without a test', '\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n', ['NoTests']],
  ['of more programs than ran', cargo('test a ... ok\n', oneOk).repeat(2), ['TwoSummaries']],
] as const)('cargo test %s', (_, text, problems) => {
  const results = parseResults('CargoTest', output(0, text, { stderr: '     Running unittests src/lib.rs (target/debug/deps/a-1)\n' }));
  expect(codes(results)).toEqual(problems);
});

test('unittest: noise on standard error is no result, a failing subtest fails its test', () => {
  const results = parseResults('Auto', { exitCode: 1, stdout: '', stderr: fixture('unittest-v.txt') });
  expect(results).toMatchObject({ format: 'Unittest', evidence: 'Tests', complete: true });
  expect(codes(results)).toEqual([]);
  expect(outcomeOf(results, 'test_u.T.test_print')).toBe('Passed');
  expect(outcomeOf(results, 'test_u.T.test_sub')).toBe('Failed');
  expect(outcomeOf(results, 'test_u.T.test_xs')).toBe('Failed');
  expect(outcomeOf(results, 'test_broken')).toBe('Errored');
  expect(results.tests.some(({ id }) => id.includes('fake'))).toBe(false);
});

test('ids that repeat are made distinct in an order that does not depend on the run', () => {
  const ids = (text: string): unknown => parseResults('TAP', output(1, text)).tests.map(({ id, outcome }) => [id, outcome]);
  expect(ids('1..2\nok 1 - a\nnot ok 2 - a\n')).toEqual(ids('1..2\nnot ok 1 - a\nok 2 - a\n'));
  expect(ids('1..3\nok 1 - a\nok 2 - a (2)\nok 3 - a\n')).toEqual([
    ['a', 'Passed'],
    ['a (3)', 'Passed'],
    ['a (2)', 'Passed'],
  ]);
});

test('Auto falls back to the exit code', () => {
  expect(parseResults('Auto', output(0, 'all fine\n')).format).toBe('Exit');
});

test.each(resultFormats.filter((format) => format !== 'Exit'))('%s believes nothing when some output was dropped', (format) => {
  expect(parseResults(format, output(0, '1..1\nok 1\n', { truncated: true })).complete).toBe(false);
});

test('dropped output does not matter where the runner wrote a file', () => {
  const files = [file('r.xml', '<testsuite tests="1"><testcase name="a"/></testsuite>')];
  expect(trusted(parseResults('JUnit', output(0, 'noise', { files, truncated: true })))).toBe(true);
});

test.each([
  ['vitest-text.txt', 'AssertionError: expected 1 to be 2 // Object.is equality', ['test/broken.test.js', 'test/deep/ok2.test.js > bad set-up', 'test/sum.test.js > sum > fails a > b', 'test/sum.test.js > sum > nested > deep fails']],
  ['jest.txt', 'expect(received).toBe(expected) // Object.is equality', ['test/broken.test.js', 'test/deep/ok2.test.js > bad set-up › never', 'test/sum.test.js > sum › fails a > b', 'test/sum.test.js > sum › nested › deep fails']],
  ['jest-projects.txt', undefined, ['core packages/core/test/sum.test.js > sum › adds', 'web packages/web/test/broken.test.js']],
  ['mocha.txt', 'AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:', ['bad set-up > "before all" hook for "never"', 'sum > fails a > b', 'sum > nested > deep fails']],
  ['rspec.txt', 'expected: 3 got: 2', ['Sum deep raises', 'Sum fails', 'bad never']],
  ['rspec-broken.txt', undefined, ['./spec/broken_spec.rb']],
  ['minitest.txt', 'Expected: 3', ['TestSum#test_fails', 'TestSum#test_raises']],
  ['minitest-spec.txt', undefined, ['TestPlain#test_a', 'my thing, really#test_0002_fails: badly [x]', 'my thing, really::deep#test_0001_raises']],
  ['test-unit.txt', 'sum', ['SumTest#test_fails', 'SumTest#test_raises', 'SumTest::with data#test: rows are right[two]']],
  ['phpunit.txt', 'Failed asserting that 2 is identical to 3.', ['SumTest::testFails', 'SumTest::testRows with data set "two" (2)', 'SumTest::testThrows']],
] as const)('%s: what fails has a name and a message, wherever it is printed', (name, message, ids) => {
  const { tests, evidence } = parseResults('Auto', { exitCode: 1, stdout: '', stderr: fixture(name) });
  expect(evidence).toBe('Counts');
  expect(tests.map(({ id }) => id).sort()).toEqual(ids);
  expect(tests.find(({ id }) => /fails(?: a > b)?$/i.test(id))?.message).toBe(message);
}); // prettier-ignore

test.each([
  ['Vitest', ' FAIL  a > b\n'],
  ['Jest', 'FAIL a.js\n  ● x\n'],
  ['Mocha', '  1 failing\n  1) s\n'],
  ['RSpec', 'rspec ./a.rb:1 # s\n'],
  ['Minitest', 'Failure:\nA#b:\n'],
  ['TestUnit', 'Failure: a(A)\n'],
  ['PHPUnit', 'There was 1 failure:\n1) A::b\n'],
  ['Maven', '[ERROR] A.b -- Time elapsed: 0.1 s <<< FAILURE!\n'],
  ['Catch2', '-------------------------------------------------------------------------------\na\na.cc:1: FAILED:\n'],
  ['Doctest', 'TEST CASE:  a\na.cc:1: ERROR: b\n'],
  ['Meson', '1/1 a FAIL 0.01s\n'],
  ['GoogleTest', '[  FAILED  ] A.b (0 ms)\n'],
  ['CTest', '1/1 Test #1: a ..........***Failed    0.01 sec\n'],
] as const)(
  '%s: what repeats its failures takes no quadratic time',
  (format, text) => {
    expect(parseResults(format, output(1, text.repeat(100_000))).format).toBe(format);
  },
  20_000,
);
