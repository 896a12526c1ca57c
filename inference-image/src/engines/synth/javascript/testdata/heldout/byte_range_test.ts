import assert from 'node:assert/strict';
import test from 'node:test';
import { byteRange } from './byte_range.ts';

test('both', () => assert.deepEqual(byteRange('0-99', 500), [0, 99]));
test('open', () => assert.deepEqual(byteRange('100-', 500), [100, 499]));
test('one byte', () => assert.deepEqual(byteRange('0-0', 500), [0, 0]));
