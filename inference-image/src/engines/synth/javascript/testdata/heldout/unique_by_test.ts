import assert from 'node:assert/strict';
import test from 'node:test';
import { uniqueBy } from './unique_by.ts';

test('by id', () =>
  assert.deepEqual(
    uniqueBy([{ id: 1 }, { id: 1 }, { id: 2 }], (item) => item.id),
    [{ id: 1 }, { id: 2 }],
  ));
test('by itself', () =>
  assert.deepEqual(
    uniqueBy([1, 1, 2], (item) => item),
    [1, 2],
  ));
test('nothing', () =>
  assert.deepEqual(
    uniqueBy([], (item) => item),
    [],
  ));
