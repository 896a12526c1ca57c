import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cellsOf, columnOf, lettersOf } from '../src/address.js';

describe('addresses', () => {
  it('has columns', () => {
    assert.equal(columnOf('A'), 0);
    assert.equal(columnOf('Z'), 25);
  });
  it('has letters', () => {
    assert.equal(lettersOf(27), 'AB');
  });
  it('has ranges', () => {
    assert.deepEqual(cellsOf('A1:B2'), ['A1', 'B1', 'A2', 'B2']);
  });
});
