import assert from 'node:assert/strict';
import test from 'node:test';
import { toggleFlag } from './set_flag.mjs';

test('switches', () => assert.deepEqual(toggleFlag({ bold: true, wide: false }, 'bold'), { bold: false, wide: false }));
test('a new flag', () => assert.deepEqual(toggleFlag({}, 'bold'), { bold: true }));
test('keeps the old state', () => {
  const before = { bold: true };
  toggleFlag(before, 'bold');
  assert.deepEqual(before, { bold: true });
});
