import assert from 'node:assert/strict';
import test from 'node:test';
import { countWords } from './count_words.mjs';

test('words', () => assert.deepEqual(countWords('the cat the'), { the: 2, cat: 1 }));
test('case', () => assert.deepEqual(countWords('A a'), { a: 2 }));
test('nothing', () => assert.deepEqual(countWords('  '), {}));
