import assert from 'node:assert/strict';
import test from 'node:test';
import { pickFields } from './pick_fields.ts';

test('picks', () => assert.deepEqual(pickFields({ a: 1, b: 2 }, ['a']), { a: 1 }));
test('zero', () => assert.deepEqual(pickFields({ a: 0, b: '' }, ['a', 'b']), { a: 0, b: '' }));
test('absent', () => assert.deepEqual(pickFields({ a: 1 }, ['c']), {}));
