import { expect, test } from 'vitest';
import { areSiblings } from './forms.ts';

test.each([
  ['ROUND_DOWN', 'ROUND_HALF_UP', true],
  ['read_text', 'write_text', true],
  ['startOfDay', 'endOfDay', true],
  ['parse_int', 'parse_float', true],
  ['MAX_SIZE', 'max_size', false],
  ['ROUND_DOWN', 'LIMIT', false],
  ['total', 'count', false],
  ['a', 'a', false],
  ['Decimal', 'decimal_of', false],
])('%s and %s: %s', (one, other, siblings) => {
  expect([areSiblings(one, other), areSiblings(other, one)]).toEqual([siblings, siblings]);
});
