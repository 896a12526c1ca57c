import assert from 'node:assert/strict';
import test from 'node:test';
import { isWeekend } from './is_weekend.ts';

test('saturday', () => assert.equal(isWeekend('2026-01-03'), true));
test('sunday', () => assert.equal(isWeekend('2026-01-04'), true));
test('monday', () => assert.equal(isWeekend('2026-01-05'), false));
