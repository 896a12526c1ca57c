import assert from 'node:assert/strict';
import test from 'node:test';
import { cartTotal } from './cart_total.mjs';

test('small', () => assert.equal(cartTotal([{ price: 10, count: 2 }], 0), 25));
test('large', () => assert.equal(cartTotal([{ price: 30, count: 2 }], 0), 60));
test('small after the discount', () => assert.equal(cartTotal([{ price: 60, count: 1 }], 0.5), 35));
