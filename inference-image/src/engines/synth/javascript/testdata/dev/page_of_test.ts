import assert from 'node:assert/strict';
import test from 'node:test';
import { pageOf } from './page_of.ts';

test('first', () => assert.deepEqual(pageOf([1, 2, 3], 1, 2), { items: [1, 2], last: false }));
test('second', () => assert.deepEqual(pageOf([1, 2, 3], 2, 2), { items: [3], last: true }));
test('nothing', () => assert.deepEqual(pageOf([], 1, 2), { items: [], last: true }));
