import assert from 'node:assert/strict';
import test from 'node:test';
import { retryDelays } from './retry_delays.ts';

test('doubles', () => assert.deepEqual(retryDelays(10, 4, 1000), [10, 20, 40, 80]));
test('is capped', () => assert.deepEqual(retryDelays(10, 5, 30), [10, 20, 30, 30, 30]));
test('none', () => assert.deepEqual(retryDelays(10, 0, 30), []));
