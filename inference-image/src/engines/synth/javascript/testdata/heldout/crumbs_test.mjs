import assert from 'node:assert/strict';
import test from 'node:test';
import { crumbs } from './crumbs.mjs';

test('plain', () =>
  assert.deepEqual(crumbs('a/b'), [
    { name: 'a', href: '/a' },
    { name: 'b', href: '/a/b' },
  ]));
test('leading', () => assert.deepEqual(crumbs('/a'), [{ name: 'a', href: '/a' }]));
test('trailing', () => assert.deepEqual(crumbs('a/'), [{ name: 'a', href: '/a' }]));
