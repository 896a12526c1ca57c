import { describe, expect, test } from 'vitest';
import { compareMemory } from './index.ts';

describe('an estimate beside what was measured', () => {
  test('drifts beyond 15 %, in both directions', () => {
    expect(compareMemory(100, 100)).toMatchObject({ errorRatio: '0.000', drifted: false });
    expect(compareMemory(84, 100)).toMatchObject({ errorRatio: '0.160', drifted: true });
    expect(compareMemory(116, 100)).toMatchObject({ errorRatio: '-0.160', drifted: true });
    expect(compareMemory(86, 100)?.drifted).toBe(false);
    expect(compareMemory(100, undefined)).toBeUndefined();
    expect(compareMemory(100, Number.NaN)).toBeUndefined();
  });
});
