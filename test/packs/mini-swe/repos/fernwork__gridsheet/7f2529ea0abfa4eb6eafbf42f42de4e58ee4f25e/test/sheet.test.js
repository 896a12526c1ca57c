import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Sheet } from '../src/sheet.js';

describe('sheet', () => {
  it('follows formulas', () => {
    assert.equal(new Sheet({ A1: 2, B1: '=A1*2', C1: '=B1+A1' }).value('C1'), 6);
  });
  it('takes nothing for zero', () => {
    assert.equal(new Sheet().value('Z9'), 0);
  });
});
