import assert from 'node:assert/strict';
import test from 'node:test';
import { listChanges } from './list_changes.ts';

test('added', () => assert.deepEqual(listChanges(['a'], ['a', 'b']), { added: ['b'], removed: [] }));
test('removed', () => assert.deepEqual(listChanges(['a', 'b'], ['a']), { added: [], removed: ['b'] }));
test('same', () => assert.deepEqual(listChanges(['a'], ['a']), { added: [], removed: [] }));
