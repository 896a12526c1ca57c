import assert from 'node:assert/strict';
import test from 'node:test';
import { overlap } from './bookings_overlap.mjs';

test('inside', () => assert.equal(overlap({ room: 1, start: 9, end: 12 }, { room: 1, start: 10, end: 11 }), true));
test('one after the other', () => assert.equal(overlap({ room: 1, start: 9, end: 10 }, { room: 1, start: 10, end: 11 }), false));
test('another room', () => assert.equal(overlap({ room: 1, start: 9, end: 12 }, { room: 2, start: 10, end: 11 }), false));
