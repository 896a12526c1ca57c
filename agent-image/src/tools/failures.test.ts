import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { failuresIn, isNamed } from './failures.ts';

const printed = async (file: string): Promise<string> =>
  stripVTControlCharacters(await readFile(join(import.meta.dirname, '../checks/testdata', file), 'utf8'));

describe('what runners print about tests that fail', () => {
  it.each([
    ['pytest-q.txt', ['test_setup', 'test_teardown', 'test_add[1-2-3]', 'Old.test_sub (i=1)'], /^E {3}assert -1 == 3$/m],
    ['unittest-v.txt', [
      'test_broken (unittest.loader._FailedTest.test_broken)', 'setUpClass (test_u.S)', 'test_err (test_u.T.test_err)',
      'test_bad (test_u.T.test_bad)', 'test_sub (test_u.T.test_sub) (i=1)',
    ], /^AssertionError: 1 != 2$/m],
    ['node-spec.txt', ['fails', 'child bad', 'test/c.test.js'], /ERR_ASSERTION/],
    ['jest.txt', ['Console', 'sum › fails a > b', 'sum › nested › deep fails', 'bad set-up › never', 'Test suite failed to run'], /Received: 1/],
    ['vitest-text.txt', ['test/deep/ok2.test.js > bad set-up', 'test/sum.test.js > sum > fails a > b', 'test/sum.test.js > sum > nested > deep fails'], /set-up failed/],
    ['bats.txt', ['fails # with hash', 'b: divides'], /# got 3/],
    ['go.txt', ['TestAdd/n=1_with_space', 'TestPanic'], /panic: boom/],
    ['maven.txt', [], /^$/],
  ])('are found in %s', async (file, names, said) => {
    const output = await printed(file);
    const { failures, rest } = failuresIn(output);
    expect(failures.map(({ name }) => name)).toEqual(names);
    expect(failures.map(({ text }) => text).join('\n')).toMatch(said);
    // Each line is in one of the two.
    const lines = [...failures.flatMap(({ text }) => text.split('\n')), ...rest.split('\n')].filter((line) => line.trim() !== '');
    expect(lines.sort()).toEqual(output.split('\n').filter((line) => line.trim() !== '').sort());
  }); // prettier-ignore

  it.each([
    ['test_add[1-2-3]', 'tests/test_calc.py::test_add[1-2-3]', true],
    ['test_bad (test_u.T.test_bad)', 'test_u.T.test_bad', true],
    ['test_bad (test_u.T)', 'test_u.T.test_bad', true],
    ['sum › adds', 'test/sum.test.js > sum > adds', true],
    ['TestAdd/n=1', 'example.test/m/a TestAdd/n=1', true],
    ['test_add', 'tests/test_calc.py::test_re_add', false],
  ])('%s may be %s: %s', (name, id, is) => {
    expect(isNamed(name, [id])).toBe(is);
  });
});
