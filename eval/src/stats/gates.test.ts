import { describe, expect, test } from 'vitest';
import { assertNoLeak } from './index.ts';

const example = (problem: string, content: string): { problem: string; content: string } => ({ problem, content });

describe('assertNoLeak', () => {
  const train = [example('sum', 'def add(a, b):\n    return a + b\n'), example('max', "print('max')"), example('none', '')];

  test('accepts problems and contents that are apart', () => {
    expect(() => assertNoLeak(train, [example('min', 'print("min")'), example('empty', '')])).not.toThrow();
  });

  test('refuses a problem that is in both halves', () => {
    expect(() => assertNoLeak(train, [example('sum', 'other')])).toThrow(/1 of 1 items: problem sum is in both; split by problem/);
  });

  test('refuses content that was copied and touched up', () => {
    const copied = example('total', 'DEF add(a, b):\r\n  return a + b');
    expect(() => assertNoLeak(train, [example('min', 'x'), copied])).toThrow(/1 of 2 items: total has the content of sum/);
    expect(() => assertNoLeak(train, [example('quote', 'print("max")')])).toThrow(/quote has the content of max/);
  });
});
