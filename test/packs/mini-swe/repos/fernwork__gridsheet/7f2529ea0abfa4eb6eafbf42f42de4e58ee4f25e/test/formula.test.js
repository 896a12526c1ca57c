import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { evaluate } from '../src/formula.js';

const cell = (address) => ({ A1: 2, A2: 3, A3: 4 })[address] ?? 0;

describe('formulas', () => {
  it('adds before it is too late', () => {
    assert.equal(evaluate('1+2*3', cell), 7);
  });
  it('reads cells', () => {
    assert.equal(evaluate('A1 * (A2 - 1)', cell), 4);
  });
  it('calls functions', () => {
    assert.equal(evaluate('SUM(A1:A3)+MAX(1,A2)', cell), 12);
  });
});
