import { describe, expect, test } from 'vitest';
import { attemptAction, backoffSeconds } from './attempts.ts';

describe('what follows a failed attempt', () => {
  test('a rule of the task comes before what the class does by itself', () => {
    expect(attemptAction('CheckFailed', {})).toBe('RollbackAndRetry');
    expect(attemptAction('CheckFailed', { rules: [{ class: 'CheckFailed', action: 'Fail' }] })).toBe('Fail');
    expect(attemptAction('Infrastructure', { rules: [{ class: 'CheckFailed', action: 'Fail' }] })).toBe('Ignore');
  });

  test('waits grow by the factor up to the cap', () => {
    const backoff = { seconds: 10, factor: 2, capSeconds: 60 };
    expect([1, 2, 3, 4, 400].map((failures) => backoffSeconds(failures, backoff))).toEqual([10, 20, 40, 60, 60]);
    expect(backoffSeconds(5, { seconds: 0, factor: 2, capSeconds: 60 })).toBe(0);
  });
});
