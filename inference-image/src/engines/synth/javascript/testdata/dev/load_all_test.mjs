import assert from 'node:assert/strict';
import test from 'node:test';
import { totalSize } from './load_all.mjs';

const load = async (id) => ({ id, size: id.length });
test('sums', async () => assert.equal(await totalSize(['a', 'bcd'], load), 4));
test('once', async () => assert.equal(await totalSize(['ab', 'ab'], load), 2));
test('nothing', async () => assert.equal(await totalSize([], load), 0));
