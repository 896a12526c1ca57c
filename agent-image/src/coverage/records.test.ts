import { describe, expect, test } from 'vitest';
import { runsPython, readRecords } from './collect.ts';

const line = (test: string, outcome: string, path: string, lines: readonly number[]): string =>
  JSON.stringify({ test, outcome, covered: [{ path, lines }] });

describe('records of the tracer', () => {
  test('are merged by test, in order, whatever file they come from', () => {
    const part = JSON.stringify({ test: 'b', part: true, covered: [{ path: 'a.py', lines: [9, 1] }] });
    const orphan = JSON.stringify({ test: 'z', part: true, covered: [{ path: 'a.py', lines: [9] }] });
    const texts = [`${line('b', 'Failed', 'b.py', [2, 2])}\n${line('a', 'Passed', 'a.py', [3])}\n`, `${part}\n${orphan}\n`];
    const expected = [
      { test: 'a', outcome: 'Passed', covered: [{ path: 'a.py', lines: [3] }] },
      {
        test: 'b',
        outcome: 'Failed',
        covered: [
          { path: 'a.py', lines: [1, 9] },
          { path: 'b.py', lines: [2] },
        ],
      },
    ];
    expect(readRecords(texts)).toEqual(expected);
    expect(readRecords(texts.reverse())).toEqual(expected);
  });

  test('a test that failed once failed, in whatever order', () => {
    const both = [line('a', 'Passed', 'a.py', [1]), line('a', 'Failed', 'a.py', [2])];
    for (const texts of [both, both.toReversed()]) {
      expect(readRecords(texts)).toEqual([{ test: 'a', outcome: 'Failed', covered: [{ path: 'a.py', lines: [1, 2] }] }]);
    }
  });

  test.each([
    ['a torn line', '{"test":"a","outc'],
    ['no object', '7'],
    ['a path that leads out', line('a', 'Passed', '../x', [1])],
    ['an absolute path', line('a', 'Passed', '/etc/passwd', [1])],
    ['a line that is none', line('a', 'Passed', 'a.py', [0])],
    ['an outcome that is none', line('a', 'Great', 'a.py', [1])],
    ['a name that is too long', line('a'.repeat(513), 'Passed', 'a.py', [1])],
  ])('%s is not believed', (_, text) => {
    expect(readRecords([text])).toEqual([]);
  });
});

test.each([
  [['python3', '-m', 'unittest'], undefined, true],
  [['/usr/bin/python3.12', 'run.py'], undefined, true],
  [['sh', '-c', 'cd src && PYTHONPATH=. pytest -q'], undefined, true],
  [['./tests/run.py'], undefined, true],
  [['make', 'test'], undefined, false],
  [['make', 'test'], 'Pytest', true],
  [['go', 'test', './...'], undefined, false],
  [['node', '--test', 'pytest-like.js'], undefined, false],
  [['python3', 'driver.py'], 'GoTest', false],
] as const)('%j with %s output runs Python: %s', (command, format, expected) => {
  expect(runsPython(command, format)).toBe(expected);
});
