import { expect, it } from 'vitest';
import { lastWords } from './baseline.ts';

it.each<[string, string, string]>([
  ['what counts nothing', 'make: nothing\nmake: *** [test] Error 2\n', '"make: *** [test] Error 2"'],
  ['silence', '\n', 'and it printed nothing'],
])('the last words of %s', (_, output, words) => {
  expect(lastWords(output)).toBe(words);
});
