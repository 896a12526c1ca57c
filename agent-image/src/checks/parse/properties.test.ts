import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { countTests, resultFormats, trusted, type Outcome, type ResultFormat } from './results.ts';
import { exitOf, file, junit, output, pytest, tap } from '../testdata/render.ts';
import { parseResults } from './index.ts';

const fixture = (name: string): string => readFileSync(new URL(`../testdata/${name}`, import.meta.url), 'utf8');
const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).map((text) => `t${text.replace(/[\p{C}\p{Z}]/gu, ' ')}x`);
const outcome = fc.constantFrom<Outcome>('Passed', 'Failed', 'Skipped');
const results = fc.uniqueArray(fc.tuple(name, outcome), { minLength: 1, maxLength: 12, selector: ([id]) => id.trim() });

test('rendered TAP is read back', () => {
  fc.assert(
    fc.property(results, (tests) => {
      const read = parseResults('TAP', output(exitOf(tests), tap(tests)));
      expect(trusted(read)).toBe(true);
      expect(read.tests.map(({ id, outcome }) => [id, outcome])).toEqual(tests.map(([id, outcome]) => [id.trim(), outcome]));
    }),
  );
});

test('rendered JUnit is read back', () => {
  fc.assert(
    fc.property(results, (tests) => {
      const read = parseResults('JUnit', output(exitOf(tests), '', { files: [file('r.xml', junit(tests))] }));
      expect(trusted(read)).toBe(true);
      expect(read.tests.map(({ id, outcome }) => [id, outcome])).toEqual(tests.map(([id, outcome]) => [`suite > ${id}`.trim(), outcome]));
    }),
  );
});

test('a cut result is never complete with other counts', () => {
  fc.assert(
    fc.property(results, fc.double({ min: 0, max: 1, noNaN: true }), (tests, share) => {
      const whole: readonly (readonly [ResultFormat, string])[] = [
        ['TAP', tap(tests)],
        ['JUnit', junit(tests)],
        ['Pytest', pytest(tests.map(([id, outcome]) => [`a.py::${id.trim()}`, outcome] as const))],
      ];
      for (const [format, text] of whole) sameOrIncomplete(format, text, Math.floor(text.length * share));
    }),
  );
});

test.each([
  ['Pytest', 'pytest-rA.txt'],
  ['Pytest', 'pytest-v.txt'],
  ['Pytest', 'pytest-q.txt'],
  ['NodeTest', 'node-tap.txt'],
  ['NodeTest', 'node-spec.txt'],
  ['JUnit', 'node-junit.txt'],
  ['JUnit', 'pytest.xml'],
  ['JUnit', 'vitest.xml'],
  ['Unittest', 'unittest-v.txt'],
  ['Unittest', 'unittest.txt'],
  ['Maven', 'maven.txt'],
  ['CTest', 'ctest.txt'],
  ['Meson', 'meson.txt'],
  ['GoogleTest', 'googletest.txt'],
] as const)('%s: %s, cut at any byte, is never complete with other counts', (format, name) => {
  const text = fixture(name);
  for (let end = 0; end < text.length; end += 1) sameOrIncomplete(format, text, end);
});

test.each([
  ['Vitest', 'vitest-text.txt'],
  ['Jest', 'jest.txt'],
  ['Mocha', 'mocha.txt'],
  ['RSpec', 'rspec.txt'],
  ['Minitest', 'minitest.txt'],
  ['TestUnit', 'test-unit.txt'],
  ['PHPUnit', 'phpunit.txt'],
] as const)('%s: %s, cut at any byte, is trusted with its counts alone', (format, name) => {
  const text = fixture(name);
  const whole = countTests(parseResults(format, output(1, text)));
  for (let end = 0; end < text.length; end += 1) {
    const read = parseResults(format, output(1, text.slice(0, end)));
    if (trusted(read)) expect(countTests(read)).toEqual(whole);
  }
});

/** Packages come one after another: a cut between two of them shows only in the exit code. */
test.each([
  ['GoTest', 'go-v.txt'],
  ['GoTest', 'go-json.txt'],
  ['CargoTest', 'cargo.txt'],
  ['CargoTest', 'cargo-shown.txt'],
  ['CargoTest', 'cargo-q.txt'],
] as const)('%s: %s, cut at any byte, is never trusted with a test that is better than it was', (format, name) => {
  const text = fixture(name);
  const whole = new Map(parseResults(format, output(1, text)).tests.map(({ id, outcome }) => [id, outcome]));
  for (let end = 0; end < text.length; end += 1) {
    const read = parseResults(format, output(1, text.slice(0, end)));
    if (!read.complete) continue;
    for (const { id, outcome } of read.tests) if (outcome === 'Passed') expect(whole.get(id)).toBe('Passed');
  }
});

function sameOrIncomplete(format: ResultFormat, text: string, end: number): void {
  const of = (part: string): ReturnType<typeof parseResults> => parseResults(format, { exitCode: 1, stdout: part, stderr: '' });
  const read = of(text.slice(0, end));
  if (read.complete) expect(countTests(read)).toEqual(countTests(of(text)));
}

const pieces = fc.constantFrom(
  'ok 1',
  'not ok',
  '1..2',
  '\n',
  '    ',
  '---',
  '...',
  '<testsuite>',
  '<testcase name="a">',
  '</testsuite>',
  '<![CDATA[',
  '&#1;',
  '===',
  ' passed in 0.1s',
  '1 failed, ',
  '\u001B[31m',
  '\r\n',
  '✔ a (1ms)',
  'ℹ tests 1',
  '▶ b',
  '--- PASS: T (0.0s)',
  '=== RUN   T',
  'ok  \tp\t0.1s',
  'running 1 test',
  'test a ... ok',
  'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out',
  'failures:',
  '{"Action":"pass","Package":"p"}',
  '{"',
  '__proto__',
  'FAILED a::b - c',
  'Ran 1 test in 0.1s',
  '-'.repeat(70),
  'OK',
  'a (b.c) ... ok',
  '[gw0]',
  'SUBFAILED(',
);
const noise = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join('')),
  fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join('\n')),
);

test('noise never throws, and every answer has distinct ids', () => {
  fc.assert(
    fc.property(noise, noise, fc.constantFrom(0, 1, null), fc.uint8Array({ maxLength: 200 }), (stdout, stderr, exitCode, bytes) => {
      for (const format of [...resultFormats, 'Auto'] as const) {
        for (const files of [[], [{ path: 'r.xml', bytes }], [file('r.xml', stdout)]]) {
          const read = parseResults(format, { exitCode, stdout, stderr, files });
          expect(new Set(read.tests.map(({ id }) => id)).size).toBe(read.tests.length);
          if (exitCode !== 0)
            expect(trusted(read) && read.tests.every(({ outcome }) => outcome === 'Passed') && read.tests.length > 0).toBe(false);
        }
      }
    }),
    { numRuns: 300 },
  );
});

/** Counted in work, not in time: quadratic work would run for minutes here. */
test.each([
  ['brackets', '['.repeat(2_000_000)],
  ['escapes', '\u001B['.repeat(1_000_000)],
  ['open titles', '\u001B]'.repeat(500_000)],
  ['equals signs', `${'='.repeat(2_000_000)}\n`],
  ['passed', 'a::b PASSED '.repeat(200_000)],
  ['points', 'ok 1 - x\n'.repeat(200_000)],
  ['open tags', '<testsuite>'.repeat(200_000)],
  ['attributes', `<testsuite ${'a="b" '.repeat(200_000)}>`],
  ['yaml', `1..1\nok 1 - a\n  ---\n${'  x: y\n'.repeat(300_000)}`],
  ['many yaml', 'ok 1 - a\n  ---\n'.repeat(100_000)],
  ['runs', '=== RUN   T\n'.repeat(300_000)],
  ['programs', 'running 1 test\n'.repeat(300_000)],
  ['printed tests', `running 1 test\ntest a${' - a'.repeat(2000)} .. ok\n`.repeat(500)],
  ['groups', '▶ a\n'.repeat(300_000)],
  ['heads', 'test_a (m.C.test_a) ... \n'.repeat(200_000)],
  ['long lines of tests', `0/0 Test #0: /${' ...'.repeat(2000)}\n`.repeat(600)],
  ['long lines of blanks', `0/0 .${' '.repeat(8000)}\n[ERROR] x${' '.repeat(8000)}\n1..0\t#1${'\t'.repeat(8000)}x\n`.repeat(600)],
  ['long lines of names', `Failure:\n]${'#:'.repeat(4000)} x\nO${':0: ERROR: '.repeat(700)}\u2028x\n`.repeat(600)],
  ['long lines of classes', `BUILD FAILED in 1s\n${`${'I.'.repeat(4000)}\n`.repeat(600)}`],
  ['tests in long groups', `▶ ${'x'.repeat(8000)}\n${'  ✔ a (1ms)\n'.repeat(200_000)}`],
  ['tests in long points', `${'    ok 1 - a\n'.repeat(200_000)}    1..200000\nok 1 - ${'y'.repeat(8000)}\n1..1\n`],
  ['tests in braces', `ok 1 - a {\n    1..1\n${'    ok\n'.repeat(300_000)}}\n`],
  ['tests in a long suite', `<testsuite name="${'x'.repeat(1_000_000)}">${'<testcase name="a"/>'.repeat(5000)}</testsuite>`],
  [
    'tests in deep suites',
    `${`<testsuite name="${'x'.repeat(1000)}">`.repeat(98)}${'<testcase name="a"/>'.repeat(50_000)}${'</testsuite>'.repeat(98)}`,
  ],
  ['skips of many', `=== short test summary info ===\n${'SKIPPED [100000] a\n'.repeat(50_000)}=== 1 failed in 1s ===\n`],
  ['failures below a long heading', `${'-'.repeat(79)}\n${'a\n'.repeat(500_000)}${'-'.repeat(79)}\n${'a:1: FAILED:\n'.repeat(50_000)}`],
  ['deep points', Array.from({ length: 300_000 }, (_, at) => `${' '.repeat(4 * (at % 60))}ok 1 - a\n`).join('')],
])('a flood of %s is read in linear time', (_, text) => {
  for (const format of [...resultFormats, 'Auto'] as const) parseResults(format, { exitCode: 1, stdout: text, stderr: text });
});
