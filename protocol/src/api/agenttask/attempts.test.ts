import { describe, expect, test } from 'vitest';
import { attemptAction, backoffSeconds } from './limits.ts';

describe('what follows a failed attempt', () => {
  test('a rule of the task comes before what the class does by itself', () => {
    expect(attemptAction('CheckFailed', {})).toBe('RollbackAndRetry');
    expect(attemptAction('CheckFailed', { rules: [{ class: 'CheckFailed', action: 'Fail' }] })).toBe('Fail');
    expect(attemptAction('Infrastructure', { rules: [{ class: 'CheckFailed', action: 'Fail' }] })).toBe('Ignore');
  });

  test('waits double up to six minutes', () => {
    expect([1, 2, 3, 4, 400].map((failures) => backoffSeconds(failures, { seconds: 60 }))).toEqual([60, 120, 240, 360, 360]);
    expect([5, 1].map((failures) => backoffSeconds(failures, { seconds: failures === 5 ? 0 : 600 }))).toEqual([0, 600]);
  });
});
