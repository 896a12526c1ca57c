import assert from 'node:assert/strict';
import test from 'node:test';
import { isNewer } from './newer_release.ts';

test('major', () => assert.equal(isNewer('2.0.0', '1.9.9'), true));
test('two digits', () => assert.equal(isNewer('1.10.0', '1.9.2'), true));
test('the same', () => assert.equal(isNewer('1.2.3', '1.2.3'), false));
