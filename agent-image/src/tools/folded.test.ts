import { describe, expect, it } from 'vitest';
import { folded } from './folded.ts';

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `t${String.fromCharCode(97 + n)}`);
const jest = (name: string, n: number): string =>
  `FAIL test/${name}.test.js${n === 2 ? ' (5.1 s)' : ''}\n  ● Test suite failed to run\n\n    Cannot find module 'x' from 'test/${name}.test.js'\n\n      at Resolver.resolve (node_modules/jest/index.js:${n})`;
const pytest = (name: string): string =>
  `____ ERROR collecting tests/test_${name}.py ____\nImportError while importing test module '/w/tests/test_${name}.py'.\ntests/test_${name}.py:1: in <module>\nE   ModuleNotFoundError: No module named 'x'`;

describe('folded output', () => {
  it.each<[string, string, string]>([
    [
      'suites that fail by one error',
      `start\n${names(24).map(jest).join('\n')}\nTests: 24 failed`,
      `start\n${jest('ta', 0)}\n[the same in 23 more: ${names(21).slice(1).map((one) => `test/${one}.test.js`).join(', ')}, … (3 more)]\nTests: 24 failed`,
    ],
    ['modules of Python', names(3).map(pytest).join('\n'), `${pytest('ta')}\n[the same in 2 more: tests/test_tb.py, tests/test_tc.py]`],
    [
      'files with numbers',
      [1, 2, 10].map((n) => `not ok ${n} - t${n}.js\n  error: no x`).join('\n'),
      'not ok 1 - t1.js\n  error: no x\n[the same in 2 more: t2.js, t10.js]',
    ],
    [
      'modules of unittest, with a line between them',
      `${['a', 'b', 'c'].map((one) => `=====\nERROR: test_${one} (loader.test_${one})\n-----\nImportError: no x\n\n`).join('')}-----\nRan 3 tests`,
      '=====\nERROR: test_a (loader.test_a)\n-----\nImportError: no x\n[the same in 2 more: test_b, test_c]\n\n=====\n\n-----\nRan 3 tests',
    ],
    [
      'files of one name in many folders',
      names(3).map((one) => `not ok - packages/${one}/test.js\n  error: no x in packages/${one}`).join('\n'),
      'not ok - packages/ta/test.js\n  error: no x in packages/ta\n[the same in 2 more: packages/tb/test.js, packages/tc/test.js]',
    ],
    [
      'files at other depths',
      ['a.js', 'b/b.js', 'c/c/c.js'].map((one) => `not ok ${one}\n  no x in /w/${one}`).join('\n'),
      'not ok a.js\n  no x in /w/a.js\n[the same in 2 more: b/b.js, c/c/c.js]',
    ],
  ])('names %s once', (_, output, text) => expect(folded(output)).toBe(text)); // prettier-ignore

  it.each<[string, string]>([
    ['two of a kind', names(2).map(jest).join('\n')],
    ['other errors', names(4).map((one, n) => `FAIL ${one}.js\n  got value${'abcd'[n]}`).join('\n')],
    ['one error in many lines of a file', names(9).map((_, n) => `  ${n}:5  error  'x' is not defined  no-undef`).join('\n')],
    ['what is named in one line each', names(9).map((one) => `src/${one}.ts(1,2): error TS2304: Cannot find name 'x'.`).join('\n')],
    ['one error in many places of a file', [1, 2, 3, 4, 5, 6].map((n) => `src/a.c:${n}:2: error: unknown x`).join('\n')],
    ['equal lines', 'a\n'.repeat(20_000)],
    ['one line of dots', '.'.repeat(32_000)],
    ['one line of blanks', `a${' '.repeat(32_000)}b`],
    ['nothing', ''],
  ])('leaves %s', (_, output) => expect(folded(output)).toBe(output)); // prettier-ignore
});
