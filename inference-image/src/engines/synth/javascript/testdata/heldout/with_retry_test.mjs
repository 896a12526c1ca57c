import assert from 'node:assert/strict';
import test from 'node:test';
import { withRetry } from './with_retry.mjs';

test('at once', async () => assert.equal(await withRetry(async () => 'done', 2), 'done'));
test('the second time', async () => {
  const task = async (attempt) => {
    if (attempt < 2) throw new Error('no');
    return attempt;
  };
  assert.equal(await withRetry(task, 3), 2);
});
test('never', async () => {
  await assert.rejects(
    withRetry(async () => Promise.reject(new Error('no')), 2),
    /no/,
  );
});
