import type { AgentTask } from '@agentfleet/protocol/api';
import { expect, it } from 'vitest';
import { WorkersClient } from './workers.ts';

it('what a task left before it was restored from a backup is read below the uid that it had', async () => {
  const uid = '0b27485a-bb86-43e6-94ac-d467b3bf16ca';
  const uri = `pvc://coding-artifacts/team/one/${uid}/2/change.patch`;
  const task = {
    metadata: { namespace: 'team', name: 'one', uid: '971a5e3a-4e68-4b1f-b78a-5814e5bcc059' },
    spec: { poolRef: { name: 'coding' } },
    status: { finished: 'true', run: { artifacts: [{ name: 'change.patch', uri, bytes: 1, sha256: '' }] } },
  } as unknown as AgentTask;
  const asked: string[] = [];
  const client = new WorkersClient({
    token: () => Promise.resolve('t'),
    urlOf: () => 'http://workers',
    fetch: (url) => {
      asked.push(typeof url === 'string' ? url : '');
      return Promise.resolve(new Response('x'));
    },
  });
  const { signal } = new AbortController();
  expect([await client.artifact(task, uri, signal), await client.log(task, 3, signal)]).not.toContain(undefined);
  expect(asked).toEqual([
    `http://workers/results/v1/artifacts/team/one/${uid}/2/change.patch`,
    `http://workers/results/v1/log/team/one/${uid}?since=3`,
  ]);
});
