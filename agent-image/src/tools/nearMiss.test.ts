import { expect, it } from 'vitest';
import { nearMiss } from './nearMiss.ts';

const lines = (count: number, line: (n: number) => string): string => Array.from({ length: count }, (_, n) => `${line(n)}\n`).join('');
const poem = 'the quick brown fox\njumps over a lazy dog\nand sleeps at home\nuntil the morning\nof the next day\n';

it.each([
  ['lines that are all a little different', 'The quick brown Fox\njumped over a lazy dog\nand sleeps at Home\nuntil a morning\n', /^closest:\n1 \| the quick/],
  ['a line that is the same', 'never seen\nand sleeps at home\nuntil the evening\nof no day\n', /^closest:\n2 \| jumps over a lazy dog\n3 \| and sleeps/],
  ['one line', 'of the last day', /^closest:\n5 \| of the next day\nline 5 is/],
  ['more lines than the file has', `${poem}and more\n`, /old_text goes on after the last line of the file: "and more"$/],
  ['nothing like it', '0123\n4567\n', 'nothing in the file is like it; read the file first'],
])('finds the place of %s', (_, old, said) => {
  expect(nearMiss(poem, old)).toMatch(said);
}); // prettier-ignore

it('compares very many lines', { timeout: 20_000 }, () => {
  const file = lines(50_000, (n) => `    const value${n} = compute(${n * 7}, "a name of number ${n}");`);
  const old = lines(200, (n) => `    let value${n + 30_000} = compute(${(n + 30_000) * 7}, "a name of number ${n + 30_000}")`);
  expect(nearMiss(file, old)).toMatch(/^closest:\n30001 \| /);
});
