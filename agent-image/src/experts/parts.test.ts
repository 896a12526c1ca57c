import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog, systemClock, type Clock } from '@agentfleet/kube';
import type { ControlRequest } from '@agentfleet/protocol/inference';
import { serveHttp, type LocalHttp } from '../testing/localHttp.ts';
import type { Part } from './ask.ts';
import { PartsClient } from './parts.ts';

const request: ControlRequest = { requestId: 'r1', experts: ['a', 'b'], steps: [] };
const answer = {
  requestId: 'r1',
  modelDigest: `sha256:${'ab'.repeat(32)}`,
  tick: 0,
  experts: [
    { name: 'a', p: 0.25 },
    { name: 'b', p: 0.75 },
  ],
  risk: 0.5,
  deliberate: false,
  shadow: null,
};

type Handler = (response: ServerResponse, calls: number, request: IncomingMessage) => void;
let handle: Handler;
let calls = 0;
let part: Part;
let passed = 0;
let server: LocalHttp;
/** Real time for limits; the test's time for the rest. */
const clock: Clock = { now: () => systemClock.now(), monotonic: () => passed, after: (ms, run) => systemClock.after(ms, run) };

beforeEach(async () => {
  calls = 0;
  passed = 0;
  server = await serveHttp((request, response) => {
    request.resume();
    calls += 1;
    handle(response, calls, request);
  });
  part = { name: 'hrm', url: server.url };
});
afterEach(() => server[Symbol.asyncDispose]());

const send = (status: number, body: unknown, headers = {}): Handler => {
  return (response) => response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
};
const open = (): PartsClient => new PartsClient({ clock, log: silentLog });
const ask = (client: PartsClient, timeoutMillis = 2000, signal = new AbortController().signal) =>
  client.ask(part, { capability: 'Control', request, timeoutMillis, signal });

describe('asking a part', () => {
  it('gives its answer', async () => {
    let path: string | undefined;
    handle = (response, at, { url }) => {
      path = url;
      send(200, answer)(response, at, undefined as never);
    };
    expect(await ask(open())).toEqual(answer);
    expect(path).toBe('/v1/control');
  });

  it.for([429, 503])('asks once more after %i, and not a third time', async (status) => {
    handle = (response, at, message) => send(at === 1 ? status : 200, at === 1 ? 'busy' : answer)(response, at, message);
    expect(await ask(open())).toEqual(answer);
    expect(calls).toBe(2);
    handle = send(status, 'busy');
    expect(await ask(open())).toEqual(expect.stringContaining(String(status)));
    expect(calls).toBe(4);
  });

  it.for([
    ['a failure', 500, 'broken'],
    ['a route that it lacks', 404, { error: { code: 'AF_CAPABILITY_UNSUPPORTED', message: 'no', field: null, cure: 'ask another' } }],
    ['no JSON', 200, 'hello'],
    ['an answer to another request', 200, { ...answer, requestId: 'r2' }],
    ['a risk above 1', 200, { ...answer, risk: 1.5 }],
    ['a missing digest', 200, { ...answer, modelDigest: undefined }],
    ['weights of other experts', 200, { ...answer, experts: [{ name: 'a', p: 1 }] }],
    ['weights in another order', 200, { ...answer, experts: answer.experts.toReversed() }],
    ['weights that sum to more', 200, { ...answer, experts: answer.experts.map(({ name }) => ({ name, p: 0.9 })) }],
  ] as const)('takes %s for no answer, at once', async ([, status, body]) => {
    handle = send(status, body);
    expect(await ask(open())).toEqual(expect.any(String));
    expect(calls).toBe(1);
  });

  it('waits no longer than its limit, the second try included', async () => {
    handle = () => undefined;
    expect(await ask(open(), 60)).toBe('no answer within 60 ms');
    handle = send(503, 'busy', { 'retry-after': '3600' });
    expect(await ask(open(), 60)).toBe('no answer within 60 ms');
  });

  it('ends with the signal', async () => {
    handle = () => undefined;
    const stop = new AbortController();
    const asked = ask(open(), 60_000, stop.signal);
    stop.abort('Quiesce');
    await expect(asked).rejects.toBe('Quiesce');
  });
});

describe('a part that fails', () => {
  it('is left out for 10 s after two failures in a row, then asked again', async () => {
    handle = send(500, 'broken');
    const client = open();
    for (let times = 0; times < 5; times += 1) expect(await ask(client)).toEqual(expect.any(String));
    expect(calls).toBe(2);
    passed += 9999;
    await ask(client);
    expect(calls).toBe(2);
    passed += 1;
    handle = send(200, answer);
    expect(await ask(client)).toEqual(answer);
    handle = send(500, 'broken');
    await ask(client);
    await ask(client);
    await ask(client);
    expect(calls).toBe(5);
  });

  it('does not count a question cut off by the end of the attempt', async () => {
    handle = () => undefined;
    const client = open();
    for (let times = 0; times < 3; times += 1) {
      const stop = new AbortController();
      const asked = ask(client, 60_000, stop.signal);
      stop.abort('Stop');
      await expect(asked).rejects.toBe('Stop');
    }
    handle = send(200, answer);
    expect(await ask(client)).toEqual(answer);
  });
});
