import assert from 'node:assert/strict';
import test from 'node:test';
import { priceAfter } from './price_after.ts';

test('own', () => assert.equal(priceAfter({ price: 50, discount: 10 }, 20), 45));
test('of the shop', () => assert.equal(priceAfter({ price: 50 }, 20), 40));
test('none at all', () => assert.equal(priceAfter({ price: 50, discount: 0 }, 20), 50));
