import assert from 'node:assert/strict';
import test from 'node:test';
import { shortestWord } from './shortest_word.mjs';

test('the first', () => assert.equal(shortestWord(['a', 'bb']), 'a'));
test('a later one', () => assert.equal(shortestWord(['abc', 'de', 'fghi']), 'de'));
test('nothing', () => assert.equal(shortestWord([]), ''));
