import { expect, test } from 'vitest';
import { textPair } from './likelihood.ts';

const lines = Array.from({ length: 200 }, (_, at) => `line ${at}\n`);
const content = lines.join('');
const at = (line: number) => ({
  content,
  path: 'a',
  start: content.indexOf(`line ${line}\n`),
  end: content.indexOf(`line ${line}\n`) + 4,
  after: 'row',
});

test('texts differ in the edit alone', () => {
  const { before, after, from } = textPair(at(100), 4);
  expect(before.startsWith('\nline 72\n')).toBe(true);
  expect(content.slice(from).startsWith(before.slice(1))).toBe(true);
  expect(after).toBe(before.replace('line 100\n', 'row 100\n'));
});

test('neighbours begin at the same place, and each has text before it', () => {
  const starts = [96, 100, 119].map((line) => textPair(at(line), 4).from);
  expect(new Set(starts).size).toBe(1);
  expect(textPair(at(120), 4).from).not.toBe(starts[0]);
  expect(textPair(at(0), 4)).toMatchObject({ from: 0 });
});

test('a file of one long line is cut', () => {
  const long = 'x'.repeat(100_000);
  const { before } = textPair({ content: long, path: 'a', start: 50_000, end: 50_001, after: 'y' }, 16);
  expect(before.length).toBeLessThan(5000);
  expect(before.length).toBeGreaterThan(2048);
});
