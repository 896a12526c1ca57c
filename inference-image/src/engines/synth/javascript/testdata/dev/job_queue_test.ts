import assert from 'node:assert/strict';
import test from 'node:test';
import { JobQueue } from './job_queue.ts';

test('the oldest first', () => {
  const queue = new JobQueue();
  queue.add({ id: 'a', urgent: false });
  queue.add({ id: 'b', urgent: false });
  assert.equal(queue.next()?.id, 'a');
  assert.equal(queue.length, 1);
});
test('the urgent before all', () => {
  const queue = new JobQueue();
  queue.add({ id: 'a', urgent: false });
  queue.add({ id: 'b', urgent: true });
  assert.equal(queue.next()?.id, 'b');
});
test('empty', () => assert.equal(new JobQueue().next(), undefined));
