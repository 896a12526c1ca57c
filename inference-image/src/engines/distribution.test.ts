import { describe, expect, it } from 'vitest';
import { entropyNats } from '../base/engine.ts';

describe('entropy', () => {
  it('is ln n for n equal weights, whatever their scale', () => {
    expect(entropyNats([3, 3, 3, 3])).toBeCloseTo(Math.log(4));
  });

  it('is zero for one sure candidate and for none', () => {
    expect(entropyNats([0.2])).toBe(0);
    expect(entropyNats([])).toBe(0);
    expect(entropyNats([1, 0])).toBe(0);
  });
});
