import { describe, expect, test } from 'vitest';
import { addMoney, costInMicros, fromMicros, toMicros } from './money.ts';

describe('money', () => {
  test.each([
    ['0', 0n, '0'],
    ['1', 1_000_000n, '1'],
    ['1.25', 1_250_000n, '1.25'],
    ['0.000001', 1n, '0.000001'],
    ['0.0000001', 1n, '0.000001'],
    ['999999999.999999', 999_999_999_999_999n, '999999999.999999'],
  ])('%s is %s millionths', (decimal, micros, shown) => {
    expect(toMicros(decimal)).toBe(micros);
    expect(fromMicros(micros)).toBe(shown);
  });

  test('is added exactly, where floats are not', () => {
    expect(addMoney('0.1', '0.2')).toBe('0.3');
    expect(Array.from({ length: 1000 }, () => '0.000007').reduce(addMoney)).toBe('0.007');
  });

  test('is refused where it is none', () => {
    for (const text of ['', '-1', '1e3', '.5', '1.']) expect(() => toMicros(text), text).toThrow(/write it like 1\.25/);
  });

  test.each([
    [{ input: '3', cachedInput: '0.3', output: '15' }, { input: 1_000_000, cachedInput: 0, output: 0 }, 3_000_000],
    [{ input: '3', cachedInput: '0.3', output: '15' }, { input: 1000, cachedInput: 900, output: 10 }, 300 + 270 + 150],
    [{ input: '0.0001', cachedInput: '0.05', output: '0' }, { input: 1, cachedInput: 0, output: 5 }, 1],
    [{ input: '0', cachedInput: '0', output: '0' }, { input: 9, cachedInput: 0, output: 5 }, 0],
  ])('a request costs what its price sets %#', (price, tokens, micros) => {
    expect(costInMicros(price, tokens)).toBe(micros);
  });
});
