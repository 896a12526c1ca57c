import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareCallNumbers, parseCallNumber } from '../src/callNumber.js';

describe('call numbers', () => {
  it('has parts', () => {
    assert.deepEqual(parseCallNumber('PQ 84.3 b'), { letters: 'PQ', number: '84.3', rest: 'b' });
  });
  it('sorts by letters', () => {
    assert.deepEqual(['QA 1', 'B 2'].sort(compareCallNumbers), ['B 2', 'QA 1']);
  });
});
