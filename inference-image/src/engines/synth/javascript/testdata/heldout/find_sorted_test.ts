import assert from 'node:assert/strict';
import test from 'node:test';
import { findSorted } from './find_sorted.ts';

test('first', () => assert.equal(findSorted([1, 3, 5], 1), 0));
test('last', () => assert.equal(findSorted([1, 3, 5], 5), 2));
test('absent', () => assert.equal(findSorted([1, 3, 5], 6), -1));
test('empty', () => assert.equal(findSorted([], 6), -1));
