import assert from 'node:assert/strict';
import test from 'node:test';
import { roman } from './roman_numeral.mjs';

test('one', () => assert.equal(roman(1), 'I'));
test('fourteen', () => assert.equal(roman(14), 'XIV'));
test('zero', () => assert.equal(roman(0), ''));
