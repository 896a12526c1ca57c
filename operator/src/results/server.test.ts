import { createServer } from 'node:http';
import { once } from 'node:events';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { resultsPath, type ResultsPart } from '@agentfleet/protocol/results';
import { expect, it, onTestFinished } from 'vitest';
import { issue } from './certificate.ts';
import { ResultsServer } from './server.ts';
import { WorkersClient } from './workers.ts';

const task = {
  metadata: { namespace: 'team', name: 'one', uid: 'u-1' },
  spec: { poolRef: { name: 'coding' } },
  status: { finished: 'true' },
} as AgentTask;

const note = (seq: number, words: string): string =>
  `${JSON.stringify({ seq, at: '2030-01-01T00:00:00Z', type: 'Noted', epoch: 1, body: { kind: 'Said', data: { words } }, prev: '', hash: '' })}\n`;

/** A results server that lets all read, and workers that answer with this log. Returns how a part is read. */
async function serving(log: string): Promise<(part: ResultsPart) => Promise<readonly unknown[]>> {
  const workers = createServer((_, response) => void response.end(log)).listen(0, '127.0.0.1');
  await once(workers, 'listening');
  const urlOf = (): string => `http://127.0.0.1:${(workers.address() as AddressInfo).port}`;
  const server = new ResultsServer({
    port: 0,
    host: '127.0.0.1',
    delegation: {
      callerByToken: () => Promise.resolve({ username: 'reader', uid: undefined, groups: [], extra: {} }),
      verdict: () => Promise.resolve({ allowed: true, reason: '' }),
    },
    workers: new WorkersClient({ token: () => Promise.resolve('t'), urlOf }),
    taskOf: () => Promise.resolve(task),
    clock: systemClock,
    log: silentLog,
  });
  await server.use(await issue(['localhost'], Date.now()), undefined);
  onTestFinished(async () => {
    await server.close();
    workers.close();
  });
  return async (part) => {
    const path = resultsPath({ namespace: 'team', name: 'one' }, part);
    const asked = request({
      port: server.port,
      rejectUnauthorized: false,
      agent: false,
      path,
      headers: { authorization: 'Bearer t' },
    }).end();
    const [answer] = (await once(asked, 'response')) as [NodeJS.ReadableStream];
    const lines = (await text(answer)).split('\n');
    return lines.filter((line) => line !== '').map((line): unknown => JSON.parse(line));
  };
}

it.each(['log', 'conversation'] as const)('the %s keeps a record whole whose words have line separators of Unicode', async (part) => {
  const words = 'a\u2028b\u2029c\u0085d\r\ne';
  const read = await serving(note(1, 'before') + note(2, words) + note(3, 'after'));
  const records = await read(part);
  expect(records).toMatchObject([{ seq: 1 }, { seq: 2 }, { seq: 3 }]);
  expect(JSON.stringify(records[1])).toContain(JSON.stringify(words));
});
