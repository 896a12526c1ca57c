import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import type { AgentTask } from '@agentfleet/protocol/api';
import { Newest } from './assignmentRunner.ts';

it('a wait that is over leaves nothing at the signal of the attempt', async () => {
  const task = { metadata: { name: 'fix' } } as AgentTask;
  const newest = new Newest(task);
  const { signal } = new AbortController();
  for (let round = 0; round < 20; round += 1) {
    const changed = newest.changed(signal);
    newest.see(task);
    await changed;
  }
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
