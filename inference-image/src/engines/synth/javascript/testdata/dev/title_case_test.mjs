import assert from 'node:assert/strict';
import test from 'node:test';
import { titleCase } from './title_case.mjs';

test('two', () => assert.equal(titleCase('hello world'), 'Hello World'));
test('small', () => assert.equal(titleCase('the end of the day'), 'The End of the Day'));
test('many small', () => assert.throws(() => titleCase('')));
