import assert from 'node:assert/strict';
import test from 'node:test';
import { clockText } from './clock_text.ts';

test('two digits', () => assert.equal(clockText(75), '1:15'));
test('one digit', () => assert.equal(clockText(185), '3:05'));
test('hours', () => assert.equal(clockText(3729), '1:02:09'));
