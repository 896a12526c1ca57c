import assert from 'node:assert/strict';
import test from 'node:test';
import { csvFields } from './csv_fields.ts';

test('fields', () => assert.deepEqual(csvFields('a,b'), ['a', 'b']));
test('quotes', () => assert.deepEqual(csvFields('"a,b",c'), ['a,b', 'c']));
test('ends are counted', () => assert.equal(csvFields('x,').at(0), 'x'));
