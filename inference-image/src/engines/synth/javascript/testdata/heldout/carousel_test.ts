import assert from 'node:assert/strict';
import test from 'node:test';
import { Carousel } from './carousel.ts';

const seen = (steps: readonly ('next' | 'previous')[]) => {
  const carousel = new Carousel(3);
  return steps.map((step) => carousel[step]());
};
test('forward', () => assert.deepEqual(seen(['next', 'next', 'next']), [1, 2, 0]));
test('back', () => assert.deepEqual(seen(['next', 'previous']), [1, 0]));
test('around', () => assert.deepEqual(seen(['previous', 'previous']), [2, 1]));
