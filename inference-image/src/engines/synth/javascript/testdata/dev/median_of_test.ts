import assert from 'node:assert/strict';
import test from 'node:test';
import { medianOf } from './median_of.ts';

test('odd', () => assert.equal(medianOf([5, 1, 3]), 3));
test('even', () => assert.equal(medianOf([1, 2, 3, 10]), 2.5));
test('two', () => assert.equal(medianOf([2, 4]), 3));
test('none', () => assert.equal(medianOf([]), null));
