import assert from 'node:assert/strict';
import test from 'node:test';
import { inChunks } from './in_chunks.ts';

test('even', () =>
  assert.deepEqual(inChunks([1, 2, 3, 4], 2), [
    [1, 2],
    [3, 4],
  ]));
test('rest', () => assert.deepEqual(inChunks([1, 2, 3], 2), [[1, 2], [3]]));
test('one', () => assert.deepEqual(inChunks([1], 2), [[1]]));
