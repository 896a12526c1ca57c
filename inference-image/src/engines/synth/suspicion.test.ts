import { describe, expect, it } from 'vitest';
import { dstar, ochiai, suspicionOf } from './synth.ts';

describe('suspicion of lines', () => {
  it('is one for a line that exactly the failing tests run', () => {
    expect(ochiai(2, 0, 2)).toBe(1);
    expect(dstar(2, 0, 2)).toBe(Infinity);
  });

  it('is zero for a line that no failing test runs', () => {
    expect(ochiai(0, 3, 2)).toBe(0);
    expect(dstar(0, 3, 2)).toBe(0);
  });

  it('follows the papers on counts in between', () => {
    expect(ochiai(1, 3, 4)).toBeCloseTo(1 / 4);
    expect(dstar(1, 3, 4)).toBeCloseTo(1 / 6);
  });

  it('distinguishes lines that no test ran from lines that only passing tests ran', () => {
    const lines = suspicionOf({ passed: 1, failed: 1, lines: [{ path: 'a.py', line: 1, passed: 1, failed: 0 }] });
    expect(lines.at('a.py', 1)).toEqual({ ochiai: 0, dstar: 0 });
    expect(lines.at('a.py', 2)).toBeNull();
    expect(lines.known).toBe(false);
  });
});
