import assert from 'node:assert/strict';
import test from 'node:test';
import { slug } from './slug.mjs';

test('two words', () => assert.equal(slug('Hello World'), 'hello-world'));
test('three words', () => assert.equal(slug('One two  three'), 'one-two-three'));
test('mark at the end', () => assert.equal(slug('Done!'), 'done'));
