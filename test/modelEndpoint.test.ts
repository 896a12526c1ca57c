// The model endpoint of agent programs: the vendors' own libraries in front, the real gateway behind, and a provider by script.
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OpenAI } from 'openai';
import { silentLog, systemClock, type Clock } from '@agentfleet/kube';
import { VirtualClock } from '@agentfleet/kube/testing';
import { mcpPath, type AuditRecord } from '@agentfleet/protocol/keeper';
import { Meter } from '../agent-image/src/attempt/meter.ts';
import { noUsage } from '../agent-image/src/report/index.ts';
import type { AttemptContext } from '../agent-image/src/attempt/ports.ts';
import { serveTunnel } from '../agent-image/src/egress/connection.ts';
import { HostList } from '../agent-image/src/egress/index.ts';
import { listening } from '../agent-image/src/egress/testing/sockets.ts';
import { serveModelEndpoint, type ModelEndpoint, type ModelEndpointOptions } from '../agent-image/src/harness/endpoint/index.ts';
import { ChatModelsClient } from '../agent-image/src/models/index.ts';
import { chatClient, messagesClient, responsesClient, type Client } from '../inference-image/src/gateway/testing/clients.ts';
import { Stage } from '../inference-image/src/gateway/testing/harness.ts';
import { chunk, FakeProvider, raw, refuse, silence, stream, tell, usage } from '../inference-image/src/gateway/testing/provider.ts';

type Api = ModelEndpointOptions['api'];
interface Note {
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const clients: Readonly<Record<Api, Client>> = { Chat: chatClient, Messages: messagesClient, Responses: responsesClient };
const paths: Readonly<Record<Api, string>> = { Chat: '/v1/chat/completions', Messages: '/v1/messages', Responses: '/v1/responses' };
const apis = Object.keys(clients) as Api[];
const bash = { name: 'bash', description: 'Runs.', schema: { type: 'object', properties: { command: { type: 'string' } } } };
const asking = { system: 'You work.', said: [{ user: 'Make it green.' }], tools: [bash] } as const;
const toolCall = { id: 'call_1', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } };
const streamed = [
  chunk({ role: 'assistant', content: 'I ' }),
  chunk({ content: 'look.' }),
  chunk({ tool_calls: [{ index: 0, ...toolCall }] }),
  chunk({}, 'tool_calls'),
  { ...(chunk({}) as object), choices: [], usage },
];
const charged = { input: 100, cachedInput: 40, output: 20, estimated: false };

const provider = new FakeProvider();
let stage: Stage;
let models: ChatModelsClient;
let port: Server;
let notes: Note[];
let endpoint: ModelEndpoint;
let meter: Meter;
let origin = '';

beforeEach(async () => {
  const url = await provider.start();
  stage = await Stage.open();
  await stage.models({ baseURLs: [url] });
  await stage.start();
  const tokens = { token: () => Promise.resolve('worker-token'), forget: () => undefined };
  models = new ChatModelsClient({ tokens, audience: 'gateway', clock: systemClock, random: Math.random, log: silentLog });
});

afterEach(async () => {
  await endpoint.close();
  await new Promise((resolve) => port.close(resolve));
  await models.close();
  await stage.close();
  await provider.stop();
});

interface Own extends Pick<ModelEndpointOptions, 'acts'> {
  readonly clock?: Clock;
}

/** Opens the endpoint behind a port, as through the keeper's tunnels. */
async function open(api: Api, tokens = 100_000, earlier: readonly Note[] = [], own: Own = {}): Promise<void> {
  notes = [];
  const { signal } = new AbortController();
  const used = { earlier: noUsage, before: noUsage };
  meter = new Meter(systemClock, used, {});
  const session = {
    events: async (visit: (record: AuditRecord) => void) => {
      for (const { kind, data } of earlier) visit({ type: 'Noted', body: { kind, data } } as unknown as AuditRecord);
      return Promise.resolve();
    },
    note: async (kind: string, data: Note['data']) => Promise.resolve(void notes.push({ kind, data })),
  };
  const task = { metadata: { namespace: 'team', name: 'fix', uid: 'u1' }, spec: { budget: { tokens } } };
  const pool = { experts: [], maxBudget: {} };
  const { clock = systemClock, ...acts } = own;
  const context = { task, pool, used, assignment: { attempt: 1 }, clock, log: silentLog, signal } as unknown as AttemptContext;
  const chat = { contextTokens: 32_768, maxOutputTokens: 1000, toolCalls: 'Native' } as const;
  const expert = { name: 'expert', role: 'Generalist', engine: 'OpenAI', domains: ['*'], url: stage.origin, chat } as const;
  const scope = { context, session, meter } as unknown as ModelEndpointOptions['scope'];
  endpoint = await serveModelEndpoint({ scope, models, expert: { ...expert, domains: ['*'] }, api, ...acts });
  const dialer = { dial: () => Promise.reject(new Error('nothing is dialed')) };
  const quiet = { onTaken: () => undefined, onRequest: () => undefined };
  const served = { hosts: new HostList([]), listedIn: '', dialer, clock: systemClock, signal, ...quiet };
  port = createServer({ allowHalfOpen: true }, (socket) => void serveTunnel(socket, { ...served, own: endpoint.own }));
  origin = `http://127.0.0.1:${await listening(port)}`;
}

const keys = (): Record<string, string> => ({ authorization: `Bearer ${endpoint.key}`, 'x-api-key': endpoint.key });

const outputOf = (note: Note | undefined): number =>
  (note?.data['charged'] as { usage: { output: number } } | undefined)?.usage.output ?? Number.NaN;

/** A request by hand. */
async function post(path: string, body: unknown, headers: Record<string, string> = keys(), signal?: AbortSignal): Promise<Response> {
  const own = { method: 'POST', body: JSON.stringify(body), headers, ...(signal !== undefined && { signal }) };
  return fetch(`${origin}${path}`, own);
}

const bodies: Readonly<Record<Api, object>> = {
  Chat: { model: 'gpt-x', messages: [{ role: 'user', content: 'Hello.' }] },
  Messages: { model: 'claude-x', max_tokens: 600, messages: [{ role: 'user', content: 'Hello.' }] },
  Responses: { model: 'codex-x', input: 'Hello.' },
};

/** The reason of a refusal in the form of its API. */
interface Refused {
  readonly type?: string;
  readonly error: { readonly code: string; readonly type: string; readonly message: string };
}
const refusedOf = async (response: Response): Promise<Refused> => (await response.json()) as Refused;

describe.each(apis)('by the API %s', (api) => {
  it.each([false, true])('an answer is passed on, recorded and charged once; stream %s', async (isStream) => {
    await open(api);
    provider.play(isStream ? stream(streamed) : tell([{ content: 'I look.', tool_calls: [toolCall] }]));
    const answer = await clients[api](origin, { ...asking, stream: isStream }, keys());
    expect(answer).toMatchObject({ text: 'I look.', calls: [{ name: 'bash', input: { command: 'ls' } }], end: 'calls', output: 20 });
    expect(provider.calls).toHaveLength(1);
    expect(provider.calls[0]?.body).toMatchObject({ model: 'some-model', max_tokens: 500 });
    expect(notes.map(({ kind }) => kind)).toEqual(['ModelAsked', 'ModelReplied']);
    expect(notes[0]?.data).toMatchObject({ attempt: 1, step: 1, n: 1, reserved: { usage: { output: 500, estimated: true } } });
    expect(notes[1]?.data).toMatchObject({ proposals: [{ text: 'I look.', finish: 'Calls', calls: [{ name: 'bash' }] }] });
    expect(notes[1]?.data).toMatchObject({ request: notes[0]?.data['request'], charged: { usage: charged } });
    expect(meter.usage()).toMatchObject({ tokensIn: 100, tokensOut: 20 });
    expect(endpoint).toMatchObject({ busy: false, failure: null });
  });

  it('a spent budget is 403 in its form, and no model is asked', async () => {
    await open(api, 400);
    provider.play(tell([{ content: 'never' }]));
    const refused = await post(paths[api], bodies[api]);
    expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([403, 'false']);
    const { type, error } = await refusedOf(refused);
    expect(error).toMatchObject({ code: 'TokensExceeded', type: api === 'Messages' ? 'permission_error' : 'invalid_request_error' });
    expect(type).toBe(api === 'Messages' ? 'error' : undefined);
    expect(endpoint.failure).toMatchObject({ failureClass: 'BudgetExceeded', reason: 'TokensExceeded' });
    expect([provider.calls.length, notes.length]).toEqual([0, 0]);
  });

  it('a refusal of the gateway passes with its status, and costs nothing', async () => {
    await open(api);
    provider.play(refuse(400, { error: { message: 'maximum context length is 8192 tokens', code: 'context_length_exceeded' } }));
    const refused = await post(paths[api], bodies[api]);
    expect(refused.status).toBe(400);
    expect((await refusedOf(refused)).error.code).toBe('ContextExceeded');
    expect(endpoint.failure).toMatchObject({ failureClass: 'AgentError', reason: 'ContextExceeded' });
    expect(meter.usage()).toMatchObject({ tokensIn: 0, tokensOut: 0 });
    provider.play(tell([{ content: 'Hello.' }]));
    expect((await post(paths[api], bodies[api])).status).toBe(200);
    expect(endpoint.failure).toBeNull();
  });

  it.each([false, true])('an answer of no use is charged as its provider bills it; stream %s', async (isStream) => {
    await open(api);
    const failed = { index: 0, delta: {}, finish_reason: 'error', error: { code: 400, message: 'no' } };
    provider.play(isStream ? stream([{ choices: [failed], usage }]) : refuse(200, { choices: [], usage }));
    const refused = await post(paths[api], { ...bodies[api], stream: isStream });
    expect(refused.ok).toBe(false);
    // Without a stream it is asked for twice.
    expect(meter.usage()).toMatchObject({ tokensIn: 100 * provider.calls.length, tokensOut: 20 * provider.calls.length });
    expect(notes.map(({ kind }) => kind)).toEqual(['ModelAsked', 'ModelReplied']);
  });

  it('a stream that fails in the middle is charged as the gateway meters it', async () => {
    await open(api);
    const { error } = { error: { message: 'gone', code: 502 } };
    provider.play(stream([chunk({ role: 'assistant', content: 'I ' }), { ...(chunk({}) as object), choices: [], usage }, { error }]));
    await post(paths[api], { ...bodies[api], stream: true }).then(
      (response) => response.text(),
      () => '',
    );
    await endpoint.settled();
    expect(notes.at(-1)?.data).toMatchObject({ charged: { usage: charged } });
  });

  it('refuses other keys, paths and bodies', async () => {
    await open(api);
    provider.play();
    const other = paths[apis.find((one) => one !== api) ?? 'Chat'];
    const cases = [
      [await post(paths[api], bodies[api], { authorization: 'Bearer sk-other' }), 401, 'KeyRefused'],
      [await post(paths[api], bodies[api], {}), 401, 'KeyRefused'],
      [await post(other, bodies[api]), 404, 'NotServed'],
      [await post('/v1/embeddings', bodies[api]), 404, 'NotServed'],
      [await post('/metrics', bodies[api]), 404, 'NotServed'],
      [await post(paths[api], [1]), 400, 'InvalidRequest'],
    ] as const;
    for (const [refused, status, code] of cases) {
      expect(refused.status).toBe(status);
      expect((await refusedOf(refused)).error.code).toBe(code);
    }
    expect(provider.calls).toEqual([]);
  });
});

it('a stream arrives piece by piece, without the usage unless requested', async () => {
  await open('Chat');
  provider.play(raw(`data: ${JSON.stringify(streamed[0])}\n\n`, 'text/event-stream', false), stream(streamed));
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: endpoint.key, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'Hello.' }];
  const first = await client.chat.completions.create({ model: 'x', messages, stream: true });
  for await (const { choices } of first) {
    expect(choices[0]?.delta.content).toBe('I ');
    break; // the program disconnects
  }
  await expect.poll(() => notes.length).toBe(2);
  expect(notes[1]?.data).toMatchObject({ charged: { usage: { estimated: true } }, proposals: [{ text: 'I ' }] });
  await expect.poll(() => endpoint.busy).toBe(false);
  const lengths: number[] = [];
  for await (const { choices } of await client.chat.completions.create({ model: 'x', messages, stream: true }))
    lengths.push(choices.length);
  expect(lengths.every((length) => length === 1)).toBe(true);
  expect(meter.usage()).toMatchObject({ tokensOut: 20 + outputOf(notes[1]) });
});

it('requests are sent one after the other, and a disconnected one ends at the provider', async () => {
  await open('Chat');
  provider.play(silence, tell([{ content: 'Hello.' }]));
  const gone = new AbortController();
  const lost = post(paths.Chat, bodies.Chat, keys(), gone.signal).catch(() => null);
  await expect.poll(() => provider.calls.length).toBe(1);
  const second = post(paths.Chat, bodies.Chat);
  await delay(50);
  expect([provider.calls.length, notes.length]).toEqual([1, 1]);
  gone.abort();
  expect(await lost).toBeNull();
  expect((await second).status).toBe(200);
  const [reserved, settled] = notes.map(({ data }) => (data['reserved'] ?? data['charged']) as object);
  expect(settled).toEqual(reserved);
});

it('a connection ends when no request comes on it, but not while one waits for the model', async () => {
  await open('Chat');
  provider.play(silence, tell([{ content: 'Hello.' }]));
  const accepted = once(port, 'connection') as Promise<[Socket]>;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const body = JSON.stringify(bodies.Chat);
  const asked = request(`${origin}${paths.Chat}`, { method: 'POST', agent, headers: { ...keys(), 'content-length': body.length } });
  asked.on('error', () => undefined).write(body.slice(0, 9));
  const [first] = await accepted;
  asked.end(body.slice(9));
  await expect.poll(() => provider.calls.length).toBe(1);
  expect(first.timeout ?? 0).toBe(0);
  agent.destroy();
  const next = once(port, 'connection') as Promise<[Socket]>;
  expect((await post(paths.Chat, bodies.Chat)).status).toBe(200);
  const [second] = await next;
  await expect.poll(() => second.timeout).toBeGreaterThanOrEqual(300_000);
});

it('a program finds its one model, counts tokens for nothing, and reaches it through its own proxy settings', async () => {
  await open('Messages');
  const list = await fetch(`${origin}/v1/models`, { headers: { 'x-api-key': endpoint.key } });
  expect(await list.json()).toMatchObject({ data: [{ id: 'expert' }] });
  const counted = await post('/v1/messages/count_tokens', bodies.Messages);
  expect(((await counted.json()) as { input_tokens: number }).input_tokens).toBeGreaterThan(0);
  expect(notes).toEqual([]);
  expect(endpoint.environment).toEqual({ ANTHROPIC_BASE_URL: 'http://127.0.0.1:3128', ANTHROPIC_API_KEY: endpoint.key });
});

it('continues with the charges of an earlier worker; a request without an answer counts as reserved', async () => {
  const usageOf = (input: number): object => ({ usage: { input, cachedInput: 0, output: 0, estimated: false }, costMicros: null });
  await open('Chat', 5000, [
    { kind: 'ModelAsked', data: { attempt: 1, note: 'a', step: 1, request: 'r1', n: 1, reserved: usageOf(9) } },
    { kind: 'ModelReplied', data: { attempt: 1, note: 'b', step: 1, request: 'r1', proposals: [], charged: usageOf(1000) } },
    { kind: 'ModelAsked', data: { attempt: 1, note: 'c', step: 2, request: 'r2', n: 1, reserved: usageOf(3800) } },
  ]);
  expect(meter.usage().tokensIn).toBe(4800);
  expect((await post(paths.Chat, bodies.Chat)).status).toBe(403);
});

it('a gateway that is away is 503 of the class Infrastructure', async () => {
  await open('Responses');
  await stage.stop();
  const refused = await post(paths.Responses, bodies.Responses);
  expect(refused.status).toBe(503);
  expect(endpoint.failure).toMatchObject({ failureClass: 'Infrastructure', reason: 'ModelUnreachable' });
  expect(meter.usage().tokensIn).toBe(0);
});

it.each([true, false])('an answer that breaks off reaches the program as that, and is charged; stream %s', async (isStream) => {
  await open('Chat');
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(isStream ? `data: ${JSON.stringify(chunk({ content: 'rm -rf ' }))}\n\n` : '{"choices": [');
    await Promise.resolve();
    throw new TypeError('terminated');
  }
  const headers = new Headers({ 'content-type': isStream ? 'text/event-stream' : 'application/json' });
  // A fake: the gateway would have to die in the middle.
  models.forward = () => Promise.resolve({ status: 200, headers, body: body() });
  const asked = post(paths.Chat, { ...bodies.Chat, stream: isStream });
  if (isStream) await expect(asked.then((response) => response.text())).rejects.toThrow(/terminated|fetch failed/);
  else expect(await asked.then(({ status, headers: said }) => [status, said.get('x-should-retry')])).toEqual([503, null]);
  expect(endpoint.failure).toMatchObject({ failureClass: 'Infrastructure', reason: 'ModelUnreachable' });
  expect(outputOf(notes.at(-1))).toBeGreaterThan(0);
});

/** Sends the head of a request and so much of its body. */
function begin(path: string, length: number, sent: string | Buffer): Socket {
  const head = [`POST ${path} HTTP/1.1`, 'host: model', `authorization: Bearer ${endpoint.key}`, `content-length: ${length}`];
  const socket = connect(Number(new URL(origin).port), '127.0.0.1');
  socket.on('error', () => undefined).write([...head, '', ''].join('\r\n'));
  socket.write(sent);
  return socket;
}

/** The status line and the code of a refusal. */
async function refusalOf(socket: Socket): Promise<string> {
  const [part] = (await once(socket, 'data')) as [Buffer];
  const [line] = part.toString().split('\r\n');
  return `${line}: ${/"code":"(\w+)"/.exec(part.toString())?.[1]}`;
}

it('half a request counts as no work, holds up no other, and is refused after 30 s', async () => {
  const clock = new VirtualClock();
  await open('Chat', 100_000, [], { clock });
  provider.play(tell([{ content: 'Hello.' }]));
  const half = begin(paths.Chat, 100, '{');
  await expect.poll(() => endpoint.lastAt).not.toBeNull();
  expect(endpoint.busy).toBe(false);
  expect((await post(paths.Chat, bodies.Chat)).status).toBe(200);
  const refused = refusalOf(half);
  await clock.advance(30_000);
  expect(await refused).toBe('HTTP/1.1 408 Request Timeout: RequestTimeout');
});

const mebibyte = 1024 * 1024;

it.each([
  ['a call of 1 MiB and a byte', mcpPath, [mebibyte + 1], '413 Payload Too Large', 'RequestTooLarge'],
  ['a request of 16 MiB and a byte', paths.Chat, [16 * mebibyte + 1], '413 Payload Too Large', 'RequestTooLarge'],
  ['calls of more than 4 MiB', mcpPath, Array.from({ length: 5 }, () => mebibyte), '429 Too Many Requests', 'TooManyRequests'],
  ['requests of more than 32 MiB', paths.Chat, [12, 12, 12].map((size) => size * mebibyte), '429 Too Many Requests', 'TooManyRequests'],
  ['the 17th open call', mcpPath, Array.from({ length: 17 }, () => 1), '429 Too Many Requests', 'TooManyRequests'],
  ['the 65th open request', paths.Chat, Array.from({ length: 65 }, () => 1), '429 Too Many Requests', 'TooManyRequests'],
])('%s is not held, and what is gone makes room', async (_, path, sizes, status, code) => {
  await open('Chat', 100_000, [], { acts: { busy: false, serve: ({ response }) => Promise.resolve(void response.end()) } });
  provider.play(tell([{ content: 'Hello.' }]));
  // The last byte of each is missing.
  const sockets = sizes.map((size) => begin(path, size + 1, Buffer.alloc(size, ' ')));
  expect(await Promise.race(sockets.map(refusalOf))).toBe(`HTTP/1.1 ${status}: ${code}`);
  for (const socket of sockets) socket.destroy();
  await endpoint.settled();
  expect((await post(path, bodies.Chat)).status).toBe(200);
});
