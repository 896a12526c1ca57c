import { describe, expect, it } from 'vitest';
import { mentioned, tableFactors } from './language/language.ts';

describe('symptoms', () => {
  it('find words and numbers of the failing test', () => {
    expect(mentioned([{ id: 'test_a', message: 'assert f(1024) == limit' }])).toEqual(new Set(['test_a', 'assert', '1024', 'limit']));
  });

  it('keep the highest factor of the rows that fit', () => {
    const table = [
      [/Range/, { a: 2, b: 3 }],
      [/Error/, { a: 4 }],
      [/Other/, { b: 9 }],
    ] as const;
    expect(tableFactors(table, [{ id: 't', message: '', trace: 'RangeError: x\n at f' }], 0)).toEqual(
      new Map([
        ['a', 4],
        ['b', 3],
      ]),
    );
  });
});
