import { describe, expect, test } from 'vitest';
import { ageOf, duration, firstLine, quoted, table } from './format.ts';
import { printable, printableLines } from '@agentfleet/protocol/text';

describe('words for a terminal', () => {
  test.each([
    [-5, '0s'],
    [59_999, '59s'],
    [119_000, '119s'],
    [120_000, '2m'],
    [150_000, '2m30s'],
    [3_600_000, '60m'],
    [4 * 3_600_000, '4h'],
    [27 * 3_600_000, '27h'],
    [76 * 3_600_000, '3d4h'],
    [400 * 24 * 3_600_000, '400d'],
  ])('%d ms are %s', (ms, text) => expect(duration(ms)).toBe(text));

  test('an unknown age is a dash', () => expect(ageOf(undefined, 0)).toBe('-'));

  test('nothing that a terminal obeys is left', () => {
    expect(printable('a\u0007\u009b\u2066é漢\n')).toBe(String.raw`a\u{7}\u{9b}\u{2066}é漢\u{a}`);
    expect(printableLines('a\tb\r\nc')).toEqual(['a\tb\\u{d}', 'c']);
  });

  test('a message of several lines is set in, or cut where there is room for one', () => {
    const message = 'one fails\n\n  at x\u0007\n';
    expect(quoted('outcome: ', message)).toEqual(['outcome: one fails', '  |   at x\\u{7}']);
    expect([firstLine(message), firstLine('all'), firstLine('')]).toEqual(['one fails …', 'all', '']);
  });

  test('columns are as wide as their longest cell', () => {
    expect(
      table(
        ['A', 'B'],
        [
          ['long', 'x'],
          ['s', ''],
        ],
      ),
    ).toEqual(['A      B', 'long   x', 's']);
  });
});
