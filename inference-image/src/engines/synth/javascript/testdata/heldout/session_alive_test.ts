import assert from 'node:assert/strict';
import test from 'node:test';
import { aliveUsers } from './session_alive.ts';

test('alive', () => assert.deepEqual(aliveUsers([{ user: 'a', expires: 20 }], 10_000), ['a']));
test('ended', () => assert.deepEqual(aliveUsers([{ user: 'a', expires: 5 }], 10_000), []));
test('none', () => assert.deepEqual(aliveUsers([], 1), []));
