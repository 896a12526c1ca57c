import { describe, expect, it } from 'vitest';
import { symptomFactors } from './operator.ts';

describe('symptoms of JavaScript', () => {
  it('favour the operators that answer to them', () => {
    const factor = symptomFactors([{ id: 't', message: "TypeError: Cannot read properties of undefined (reading 'name')" }]);
    expect(factor('optional-chain')).toBeGreaterThan(1);
    expect(factor('swap-arguments')).toBe(1);
  });

  it('are read from the first line of a trace as well', () => {
    const trace = 'TypeError: all is not iterable\n    at f (file:///workspace/x.js:3:5)\n';
    expect(symptomFactors([{ id: 't', message: '', trace }])('spread')).toBeGreaterThan(1);
  });
});
