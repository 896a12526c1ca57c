import { describe, expect, it } from 'vitest';
import { symptomFactors } from './operator.ts';

describe('symptoms of Python', () => {
  it('favour the operators that answer to them', () => {
    const factor = symptomFactors([{ id: 't', message: 'ValueError: too many values to unpack (expected 2)' }]);
    expect(factor('missing-argument')).toBeGreaterThan(1);
    expect(factor('comparison')).toBe(1);
  });

  it('are read from the last line of a trace as well', () => {
    expect(
      symptomFactors([{ id: 't', message: '', trace: 'Traceback\nIndexError: pop from empty list\n' }])('guard-statement'),
    ).toBeGreaterThan(1);
  });

  it('favour nothing without failures', () => {
    expect(symptomFactors([])('comparison')).toBe(1);
  });
});
