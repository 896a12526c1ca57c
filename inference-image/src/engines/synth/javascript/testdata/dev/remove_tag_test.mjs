import assert from 'node:assert/strict';
import test from 'node:test';
import { removeTag } from './remove_tag.mjs';

test('in the middle', () => assert.deepEqual(removeTag(['a', 'b', 'c'], 'b'), ['a', 'c']));
test('the first', () => assert.deepEqual(removeTag(['a', 'b'], 'a'), ['b']));
test('unknown', () => assert.deepEqual(removeTag(['a'], 'x'), ['a']));
