import assert from 'node:assert/strict';
import test from 'node:test';
import { topScores } from './top_scores.mjs';

test('digits', () => assert.deepEqual(topScores([3, 9, 5], 2), [9, 5]));
test('tens', () => assert.deepEqual(topScores([3, 20, 100], 2), [100, 20]));
test('few', () => assert.deepEqual(topScores([4], 3), [4]));
