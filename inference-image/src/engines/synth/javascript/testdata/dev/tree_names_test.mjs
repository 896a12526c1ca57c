import assert from 'node:assert/strict';
import test from 'node:test';
import { treeNames } from './tree_names.mjs';

test('leaf', () => assert.deepEqual(treeNames({ name: 'a' }), ['a']));
test('two levels', () => assert.deepEqual(treeNames({ name: 'a', children: [{ name: 'b' }, { name: 'c' }] }), ['a', 'b', 'c']));
test('three levels', () =>
  assert.deepEqual(treeNames({ name: 'a', children: [{ name: 'b', children: [{ name: 'c' }] }] }), ['a', 'b', 'c']));
