import { describe, expect, test } from 'vitest';
import { countGo, findFailedTests, goFailures, mergeTries, type GoEvent } from './counts.ts';

const failing: readonly GoEvent[] = [
  { Action: 'pass', Package: 'p', Test: 'TestGood' },
  { Action: 'fail', Package: 'p', Test: 'TestLate/case' },
  { Action: 'fail', Package: 'p', Test: 'TestLate' },
  { Action: 'fail', Package: 'p' },
];
const count = (events: readonly GoEvent[]): ReturnType<typeof countGo> => countGo(events.map((event) => JSON.stringify(event)).join('\n'));

describe('two tries of Go tests', () => {
  test('tests that failed are named by package', () => {
    expect(findFailedTests(failing)).toEqual(new Map([['p', ['TestLate']]]));
  });

  test('a failure outside of tests is not retried', () => {
    expect(findFailedTests([{ Action: 'build-fail' }, { Action: 'fail', Package: 'p' }])).toBeUndefined();
    expect(findFailedTests([...failing, { Action: 'fail', Package: 'q' }])).toBeUndefined();
  });

  test('a test that passes at the second try counts as passed once', () => {
    const second: readonly GoEvent[] = [
      { Action: 'pass', Package: 'p', Test: 'TestLate/case' },
      { Action: 'pass', Package: 'p', Test: 'TestLate' },
      { Action: 'pass', Package: 'p' },
    ];
    expect(count(mergeTries(failing, second))).toEqual({ passed: 3, failed: 0, skipped: 0 });
  });

  test('a test that fails twice has failed', () => {
    const second: readonly GoEvent[] = [
      { Action: 'fail', Package: 'p', Test: 'TestLate' },
      { Action: 'fail', Package: 'p' },
    ];
    expect(count(mergeTries(failing, second))).toMatchObject({ passed: 1, failed: 1 });
  });

  test('a failure is named with its output; its parents and its package are not', () => {
    const output = (Test: string, Output: string): GoEvent => ({ Action: 'output', Package: 'p', Test, Output });
    const late = [output('TestLate/case', '=== RUN   TestLate/case\n'), output('TestLate/case', '    a_test.go:7: too late\n')];
    expect(goFailures([...late, ...failing])).toEqual([{ name: 'p > TestLate/case', lines: ['    a_test.go:7: too late'] }]);
    const whole: GoEvent = { Action: 'output', Package: 'q', Output: 'panic: no\n' };
    expect(goFailures([whole, { Action: 'fail', Package: 'q' }])).toEqual([{ name: 'q', lines: ['panic: no'] }]);
    expect(goFailures([{ Action: 'build-output', Output: 'x.go:1: syntax error\n' }, { Action: 'build-fail' }])).toEqual([
      { name: 'build', lines: ['x.go:1: syntax error'] },
    ]);
  });
});
