import assert from 'node:assert/strict';
import test from 'node:test';
import { rotateGrid } from './rotate_grid.mjs';

test('square', () =>
  assert.deepEqual(
    rotateGrid([
      [1, 2],
      [3, 4],
    ]),
    [
      [3, 1],
      [4, 2],
    ],
  ));
test('row', () => assert.deepEqual(rotateGrid([[1, 2, 3]]), [[1], [2], [3]]));
test('columns', () => assert.equal(rotateGrid([[1, 2, 3]]).length, 3));
