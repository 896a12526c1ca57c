import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { getEventListeners, once } from 'node:events';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { silentLog, systemClock, type Clock } from '@agentfleet/kube';
import { VirtualClock } from '@agentfleet/kube/testing';
import type { AgentTask } from '@agentfleet/protocol/api';
import { conversationStreamMs, resultsApi, resultsPath, type ResultsPart } from '@agentfleet/protocol/results';
import { expect, it, onTestFinished, vi } from 'vitest';
import { callerByHeaders, type FrontProxy } from './callers.ts';
import { issue } from './certificate.ts';
import { openRecords } from './records.ts';
import { ResultsServer } from './server.ts';
import { WorkersClient } from './workers.ts';

const taskOf = (finished: boolean): AgentTask =>
  ({
    metadata: { namespace: 'team', name: 'one', uid: 'u-1' },
    spec: { poolRef: { name: 'coding' } },
    status: { finished: String(finished) },
  }) as AgentTask;

const note = (seq: number, words: string): string =>
  `${JSON.stringify({ seq, at: '2030-01-01T00:00:00Z', type: 'Noted', epoch: 1, body: { kind: 'Said', data: { words } }, prev: '', hash: '' })}\n`;

const notes = (count: number): string => Array.from({ length: count }, (_, index) => note(index + 1, 'x')).join('');

/** A results server that lets all read, and workers that answer so. Returns what opens a part. */
async function serving(
  answer: (response: ServerResponse) => void,
  { clock = systemClock, finished = true }: { readonly clock?: Clock; readonly finished?: boolean } = {},
): Promise<(part: ResultsPart | 'APIs', query?: string, reader?: string) => Promise<IncomingMessage>> {
  const workers = createServer((_, response) => answer(response)).listen(0, '127.0.0.1');
  await once(workers, 'listening');
  const urlOf = (): string => `http://127.0.0.1:${(workers.address() as AddressInfo).port}`;
  const server = new ResultsServer({
    port: 0,
    host: '127.0.0.1',
    delegation: {
      callerByToken: (token) => Promise.resolve({ username: token, uid: undefined, groups: [], extra: {} }),
      verdict: () => Promise.resolve({ allowed: true, reason: '' }),
    },
    workers: new WorkersClient({ token: () => Promise.resolve('t'), urlOf }),
    taskOf: () => Promise.resolve(taskOf(finished)),
    clock,
    log: silentLog,
  });
  await server.use(await issue(['localhost'], Date.now()), undefined);
  onTestFinished(async () => {
    await server.close();
    workers.close();
  });
  return async (part, query = '', reader = 'reader') => {
    const path = part === 'APIs' ? resultsApi.path : `${resultsPath({ namespace: 'team', name: 'one' }, part)}${query}`;
    const headers = { authorization: `Bearer ${reader}` };
    const asked = request({ port: server.port, rejectUnauthorized: false, agent: false, path, headers }).end();
    const [opened] = (await once(asked, 'response')) as [IncomingMessage];
    return opened;
  };
}

async function linesOf(opened: Promise<IncomingMessage>): Promise<readonly unknown[]> {
  const text = Buffer.concat(await (await opened).toArray()).toString();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line));
}

it.each(['log', 'conversation'] as const)('the %s keeps a record whole whose words have line separators of Unicode', async (part) => {
  const words = 'a\u2028b\u2029c\u0085d\r\ne';
  const open = await serving((response) => response.end(note(1, 'before') + note(2, words) + note(3, 'after')));
  const records = await linesOf(open(part));
  expect(records).toMatchObject([{ seq: 1 }, { seq: 2 }, { seq: 3 }]);
  expect(JSON.stringify(records[1])).toContain(JSON.stringify(words));
});

it('a conversation adds no listener for each of its records', async () => {
  const listening = vi.spyOn(EventTarget.prototype, 'addEventListener');
  onTestFinished(() => listening.mockRestore());
  const open = await serving((response) => response.end(notes(2000)));
  expect(await linesOf(open('conversation'))).toHaveLength(2000);
  const signals = new Set(listening.mock.contexts.filter((target) => target instanceof AbortSignal));
  expect(signals.size).toBeGreaterThan(0);
  for (const signal of signals) expect(getEventListeners(signal, 'abort').length).toBeLessThan(10);
});

it('records of one piece leave the event loop to others in between', async () => {
  let ms = 0;
  const clock: Clock = { ...systemClock, monotonic: () => (ms += 1) };
  const workers = { log: () => Promise.resolve(Readable.from([Buffer.from(notes(1000))])), artifact: () => Promise.resolve(undefined) };
  const again = (): Promise<AgentTask> => Promise.resolve(taskOf(true));
  const records = await openRecords({ task: taskOf(true), again, workers, since: 0, follow: false, clock }, new AbortController().signal);
  let turns = 0;
  for await (const { record } of records) if (record.seq % 100 === 1) setImmediate(() => (turns += 1));
  expect(turns).toBe(10);
});

it.each(['ended', 'was deleted'])('a follower gets the last records of a task that %s between two looks', async (how) => {
  const clock = new VirtualClock();
  let written = 1;
  const workers = {
    log: (_: AgentTask, since: number) => Promise.resolve(Readable.from([Buffer.from(notes(written).split('\n').slice(since).join('\n'))])),
    artifact: () => Promise.resolve(undefined),
  };
  const again = (): Promise<AgentTask | undefined> => {
    written = 3;
    return Promise.resolve(how === 'ended' ? taskOf(true) : undefined);
  };
  const signal = new AbortController().signal;
  const records = await openRecords({ task: taskOf(false), again, workers, since: 0, follow: true, clock }, signal);
  const read: number[] = [];
  const end = (async () => {
    for await (const { record } of records) read.push(record.seq);
  })();
  for (let second = 0; second < 10; second += 1) await clock.advance(1000);
  await end;
  expect(read).toEqual([1, 2, 3]);
});

it('a conversation that is followed pauses in time, also where its workers send nothing, and leaves them', async () => {
  const clock = new VirtualClock();
  const left = Promise.withResolvers<void>();
  const open = await serving((response) => void response.once('close', left.resolve).write(note(1, 'x')), { clock, finished: false });
  const lines = createInterface({ input: await open('conversation', '?follow=true') })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toContain('"seq":1');
  await clock.advance(conversationStreamMs);
  const at = new Date(clock.now()).toISOString();
  expect(JSON.parse((await lines.next()).value as string)).toEqual({ type: 'Pause', seq: 1, at });
  expect((await lines.next()).done).toBe(true);
  await left.promise;
});

it('a caller that follows very many tasks leaves room for others', async () => {
  const open = await serving((response) => void response.write(note(1, 'x')), { finished: false });
  const opened = await Promise.all(Array.from({ length: 128 }, () => open('log', '?follow=true')));
  expect(new Set(opened.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  const refused = await open('log');
  expect(refused.statusCode).toBe(429);
  expect(Buffer.concat(await refused.toArray()).toString()).toContain('reader reads 128 results already');
  for (const one of opened) one.destroy();
  await expect.poll(async () => (await open('log', '?follow=true')).statusCode).toBe(200);
});

it('a server that serves all the readers that it can is found to be there', async () => {
  const open = await serving((response) => void response.write(note(1, 'x')), { finished: false });
  const readers = Array.from({ length: 512 }, (_, at) => open('log', '?follow=true', `reader${at % 4}`));
  const opened = await Promise.all(readers);
  const statusOf = async (part: ResultsPart | 'APIs'): Promise<number | undefined> => (await open(part, '', 'aggregator')).statusCode;
  expect([new Set(opened.map(({ statusCode }) => statusCode)), await statusOf('log'), await statusOf('APIs')]).toEqual([
    new Set([200]),
    429,
    200,
  ]);
  for (const one of opened) one.destroy();
});

it('a caller has all that the front proxy adds, whatever it is called', () => {
  const proxy = { usernameHeaders: ['x-remote-user'], uidHeaders: [], groupHeaders: [], extraPrefixes: ['x-remote-extra-'] };
  const names = ['scopes', 'constructor', '__proto__'];
  const added = Object.fromEntries(names.map((name) => [`x-remote-extra-${name}`, [`of ${name}`]]));
  const { extra = {} } = callerByHeaders({ 'x-remote-user': ['ada'], ...added }, proxy as unknown as FrontProxy) ?? {};
  expect(Object.entries(extra)).toEqual(names.map((name) => [name, [`of ${name}`]]));
});
