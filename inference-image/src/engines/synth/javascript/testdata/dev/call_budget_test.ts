import assert from 'node:assert/strict';
import test from 'node:test';
import { CallBudget } from './call_budget.ts';

const taken = (...times: number[]) => {
  const budget = new CallBudget(2, 100);
  return times.map((time) => budget.take(time));
};
test('within', () => assert.deepEqual(taken(0, 1), [true, true]));
test('beyond', () => assert.deepEqual(taken(0, 1, 2), [true, true, false]));
test('a new window', () => assert.deepEqual(taken(0, 1, 2, 100), [true, true, false, true]));
