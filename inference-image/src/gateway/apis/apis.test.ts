// The same conversations through each API, by its vendor's library, to each kind of upstream: equal meaning both ways.
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { conversationOf, type ChatCompletion, type WireMessage } from '@agentfleet/protocol/chat';
import {
  chatClient,
  messagesClient,
  responsesClient,
  type Asking,
  type Called,
  type Client,
  type Read,
  type Said,
} from '../testing/clients.ts';
import { chunk, raw, refuse, stream, tell, usage, type Script } from '../testing/provider.ts';
import { staging } from '../testing/staging.ts';

const { provider, stage } = staging();

const apis: Readonly<Record<string, Client>> = { chat: chatClient, messages: messagesClient, responses: responsesClient };

interface Meaning {
  readonly text: string;
  readonly calls: readonly Called[];
  readonly end: 'stop' | 'calls' | 'length';
}

const bash = { name: 'bash', description: 'Runs.', schema: { type: 'object', properties: { command: { type: 'string' } } } };
const call = (id: string, command: string): Called => ({ id, name: 'bash', input: { command } });
const one: Meaning = { text: 'I look.', calls: [call('call_1', 'ls')], end: 'calls' };
const two: Meaning = { text: '', calls: [call('call_1', 'ls'), call('call_2', 'pwd')], end: 'calls' };
const goal: Said = { user: 'Make it green.' };

const conversations: readonly (readonly [string, readonly Said[], Meaning])[] = [
  ['a text', [goal], { text: 'Hello.', calls: [], end: 'stop' }],
  ['a call', [goal], one],
  ['two calls at once', [goal], two],
  ['the result of a call', [goal, one, { result: 'a.txt', of: 'call_1' }], { text: 'Done.', calls: [], end: 'stop' }],
  [
    'the results of two calls, and more',
    [goal, two, { result: 'a.txt', of: 'call_1' }, { result: '', of: 'call_2' }, { user: 'Go on.' }],
    { text: 'Done.', calls: [], end: 'stop' },
  ],
  ['an answer that is cut off', [goal], { text: 'Once upon', calls: [], end: 'length' }],
];

/** An answer as each vendor writes it, whole and streamed. */
const finishes = { stop: 'stop', calls: 'tool_calls', length: 'length' };
const wireCalls = (calls: readonly Called[]): NonNullable<WireMessage['tool_calls']> =>
  calls.map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }));

function openaiScript({ text, calls, end }: Meaning, streamed: boolean): Script {
  const finish = finishes[end];
  const whole = { content: text === '' ? null : text, ...(calls.length > 0 && { tool_calls: wireCalls(calls) }) };
  if (!streamed) return refuse(200, { choices: [{ index: 0, message: { role: 'assistant', ...whole }, finish_reason: finish }], usage });
  const pieces = wireCalls(calls).flatMap(({ function: { name, arguments: args }, ...rest }, index) => [
    chunk({ tool_calls: [{ index, ...rest, function: { name, arguments: '' } }] }),
    chunk({ tool_calls: [{ index, function: { arguments: args.slice(0, 5) } }] }),
    chunk({ tool_calls: [{ index, function: { arguments: args.slice(5) } }] }),
  ]);
  const texts = [text.slice(0, 3), text.slice(3)].filter((piece) => piece !== '').map((content) => chunk({ content }));
  return stream([
    chunk({ role: 'assistant', content: '' }),
    ...texts,
    ...pieces,
    chunk({}, finish),
    { ...(chunk({}) as object), choices: [], usage },
  ]);
}

const counts = { input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 20 };
const reasons = { stop: 'end_turn', calls: 'tool_use', length: 'max_tokens' };

function anthropicScript({ text, calls, end }: Meaning, streamed: boolean): Script {
  const content = [...(text === '' ? [] : [{ type: 'text', text }]), ...calls.map((each) => ({ type: 'tool_use', ...each }))];
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content,
    stop_reason: reasons[end],
    stop_sequence: null,
    usage: counts,
  };
  if (!streamed) return refuse(200, message);
  const blocks = content.flatMap((block, index) => [
    { type: 'content_block_start', index, content_block: 'text' in block ? { type: 'text', text: '' } : { ...block, input: {} } },
    {
      type: 'content_block_delta',
      index,
      delta:
        'text' in block
          ? { type: 'text_delta', text }
          : { type: 'input_json_delta', partial_json: JSON.stringify((block as unknown as Called).input) },
    },
    { type: 'content_block_stop', index },
  ]);
  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage: { ...counts, output_tokens: 1 } } },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason: reasons[end], stop_sequence: null }, usage: { output_tokens: 20 } },
    { type: 'message_stop' },
  ];
  return raw(events.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join(''), 'text/event-stream');
}

/** The conversation as the recording has it. */
function recordingOf(said: readonly Said[], { text, calls, end }: Meaning, tools: readonly string[]): string {
  const wire = (each: Said): WireMessage => {
    if ('user' in each) return { role: 'user', content: each.user };
    if ('result' in each) return { role: 'tool', tool_call_id: each.of, content: each.result };
    return { role: 'assistant', content: each.text, ...(each.calls.length > 0 && { tool_calls: wireCalls(each.calls) }) };
  };
  const message: WireMessage = {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(calls.length > 0 && { tool_calls: wireCalls(calls) }),
  };
  const response: ChatCompletion = { choices: [{ index: 0, message, finish_reason: finishes[end] }], usage };
  return JSON.stringify(conversationOf([{ messages: [{ role: 'system', content: 'You repair.' }, ...said.map(wire)], tools, response }]));
}

type Upstream = (said: readonly Said[], meaning: Meaning, asking: Asking) => Promise<void>;
const upstreams: Readonly<Record<string, Upstream>> = {
  OpenAI: async (_said, meaning, asking) => {
    await stage.models({ baseURLs: [provider.url] });
    provider.play(openaiScript(meaning, asking.stream));
  },
  Anthropic: async (_said, meaning, asking) => {
    await stage.models({ engine: 'Anthropic', baseURLs: [provider.url] });
    provider.play(anthropicScript(meaning, asking.stream));
  },
  Replay: async (said, meaning, { tools }) => {
    await mkdir(stage.path('records'));
    await stage.write(
      'records/one.json',
      recordingOf(
        said,
        meaning,
        tools.map(({ name }) => name),
      ),
    );
    await stage.models({ engine: 'Replay', recording: stage.path('records') });
    provider.play();
  },
};

const toExpert = { 'agentfleet-expert': 'expert' };
const cases = Object.keys(upstreams).flatMap((upstream) =>
  conversations.flatMap(([what, said, meaning]) => [false, true].map((streams) => ({ upstream, what, said, meaning, streams }))),
);

describe('every API', () => {
  it.each(cases)('means the same to $upstream: $what (stream: $streams)', async ({ upstream, said, meaning, streams }) => {
    const asking: Asking = { system: 'You repair.', said, tools: [bash], stream: streams };
    await upstreams[upstream]?.(said, meaning, asking);
    await stage.start();
    const sent: unknown[] = [];
    for (const [name, client] of Object.entries(apis)) {
      const read: Read = await client(stage.origin, asking, toExpert);
      expect({ name, ...read, raw: null }).toEqual({
        name,
        ...meaning,
        input: usage.prompt_tokens,
        output: usage.completion_tokens,
        raw: null,
      });
      sent.push(normal(provider.calls.at(-1)?.body));
    }
    expect(new Set(sent.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(await stage.metrics()).toContain(`agentfleet_gateway_requests_total{model="expert",result="ok"} ${sent.length}`);
  });
});

describe('two calls of a stream stay two', () => {
  const piece = (members: object, name: string | null, args: unknown): unknown =>
    chunk({ tool_calls: [{ ...members, type: 'function', function: { ...(name !== null && { name }), arguments: args } }] });
  const deviations: readonly (readonly [string, readonly unknown[]])[] = [
    ['without index and id', [piece({ id: '' }, 'bash', '{"x":1}'), piece({}, 'bash', '{"y":2}')]],
    ['of one index, with ids', [piece({ index: 0, id: 'a' }, 'bash', '{"x":1}'), piece({ index: 0, id: 'b' }, 'bash', '{"y":2}')]],
    ['of one id', [piece({ index: 0, id: 'a' }, 'bash', '{"x":1}'), piece({ index: 1, id: 'a' }, 'bash', '{"y":2}')]],
    ['with arguments that are no text', [piece({ index: 0, id: 'a' }, 'bash', { x: 1 }), piece({ index: 1, id: 'b' }, 'bash', { y: 2 })]],
    [
      'whose pieces have empty ids and names',
      [
        piece({ index: 0, id: 'a' }, 'bash', null),
        piece({ index: 0, id: '' }, '', '{"x":'),
        piece({ index: 0, id: '' }, null, '1}'),
        piece({ index: 1, id: 'b' }, 'bash', ''),
        piece({ index: 1 }, '', '{"y":2}'),
      ],
    ],
    [
      'whose pieces repeat ids and names',
      [
        piece({ index: 0, id: 'a' }, 'bash', '{"x":'),
        piece({ index: 0, id: 'a' }, 'bash', '1}'),
        piece({ index: 0, id: 'a' }, 'bash', ''),
        piece({ index: 1 }, 'bash', '{"y":'),
        piece({ index: 1 }, 'bash', '2}'),
      ],
    ],
  ];
  it.each(deviations.flatMap(([what, pieces]) => Object.keys(apis).map((name) => [what, name, pieces] as const)))(
    '%s: %s',
    async (_what, name, pieces) => {
      await stage.models({ baseURLs: [provider.url] });
      provider.play(stream([chunk({ role: 'assistant' }), ...pieces, chunk({}, 'tool_calls')]));
      await stage.start();
      const read = await apis[name]?.(stage.origin, { system: 's', said: [goal], tools: [bash], stream: true }, toExpert);
      const calls = read?.calls ?? [];
      expect(calls.map(({ id: _id, ...each }) => each)).toEqual([
        { name: 'bash', input: { x: 1 } },
        { name: 'bash', input: { y: 2 } },
      ]);
      expect(new Set(calls.map(({ id }) => id).filter((id) => id !== '')).size).toBe(2);
    },
  );
});

it.each(['messages', 'responses'].flatMap((name) => [false, true].map((streams) => [name, streams] as const)))(
  'the words of a refusal are read, which the API has no member for: %s, streamed %s',
  async (name, streams) => {
    const refusal = { role: 'assistant', content: null, refusal: 'I cannot.' };
    await stage.models({ baseURLs: [provider.url] });
    provider.play(streams ? stream([chunk(refusal), chunk({}, 'stop')]) : tell([refusal]));
    await stage.start();
    const read = await apis[name]?.(stage.origin, { system: 's', said: [goal], tools: [], stream: streams }, toExpert);
    expect(read).toMatchObject({ text: 'I cannot.', end: 'stop' });
  },
);

/** A request less the ways in which equal ones may be written: an empty text of a message with calls is none. */
function normal(body: Readonly<Record<string, unknown>> | undefined): unknown {
  const { messages, tool_choice: choice = 'auto', parallel_tool_calls: _parallel, ...rest } = body ?? {};
  const bare = (messages as readonly Readonly<Record<string, unknown>>[] | undefined)?.map((message) => ({
    ...message,
    content: message['content'] || null,
  }));
  const sorted = (value: object): object => Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return sorted({ ...rest, choice, messages: bare?.map(sorted) });
}

it.each(Object.keys(apis))('redacts, bounds, meters and records alike: %s', async (name) => {
  const secret = `ghp_${'a1B2'.repeat(9)}`;
  const price = { input: '1', cachedInput: '0', output: '1' };
  await stage.models({ baseURLs: [provider.url], maxOutputTokens: 99, price });
  provider.play(tell([{ content: 'Done.' }]));
  await stage.start({ AGENTFLEET_RECORD_TO: stage.path('live') });
  const said: Said[] = [{ user: `key ${secret}` }, one, { result: secret, of: 'call_1' }];
  await apis[name]?.(stage.origin, { system: secret, said, tools: [bash], stream: false }, { ...toExpert, 'agentfleet-task': 'demo/fix' });
  const [file = ''] = await readdir(stage.path('live'));
  const recorded = await readFile(stage.path(`live/${file}`), 'utf8');
  expect(JSON.stringify(provider.calls[0]?.body) + recorded).not.toContain(secret);
  expect(JSON.parse(recorded)).toMatchObject({ tools: ['bash'], response: { choices: [{ message: { content: 'Done.' } }] } });
  expect(provider.calls[0]?.body['max_tokens']).toBe(99);
  const metrics = await stage.metrics();
  expect(metrics).toMatch(/agentfleet_gateway_redactions_total\{kind="[^"]+"\} 3/);
  expect(metrics).toContain('agentfleet_gateway_tokens_total{model="expert",kind="output",task_namespace="demo"} 20');
});

/** Errors of each library. */
interface Thrown {
  readonly status?: number;
  readonly error?: unknown;
  readonly message: string;
}

describe('a refusal', () => {
  const refusals: readonly (readonly [string, Script, number, string])[] = [
    ['of the credential', refuse(401, { error: { message: 'expired' } }), 500, 'CredentialRefused'],
    ['of too long a conversation', refuse(400, { error: { message: 'maximum context length is 8192' } }), 400, 'ContextExceeded'],
    ['for the rate', refuse(429, { error: { message: 'slow' } }, { 'retry-after': '90' }), 429, 'RateLimited'],
  ];
  const table = Object.keys(apis).flatMap((name) =>
    refusals.flatMap((row) => [false, true].map((streams) => [name, streams, ...row] as const)),
  );
  it.each(table)('%s (stream: %s): %s', async (name, streams, _what, script, status, code) => {
    await stage.models({ baseURLs: [provider.url] });
    provider.play(script);
    await stage.start();
    const thrown = (await apis[name]?.(stage.origin, { system: 's', said: [goal], tools: [], stream: streams }, toExpert).catch(
      (error: unknown) => error,
    )) as Thrown;
    expect(thrown.status).toBe(status);
    expect(JSON.stringify(thrown.error)).toContain(code);
    expect(await stage.metrics()).toContain(`agentfleet_gateway_requests_total{model="expert",result="${code}"} 1`);
  });

  it.each(Object.keys(apis))('in the middle of a stream: %s', async (name) => {
    await stage.models({ baseURLs: [provider.url] });
    provider.play(stream([chunk({ content: 'Hel' })], false));
    await stage.start();
    const thrown = (await apis[name]?.(stage.origin, { system: 's', said: [goal], tools: [], stream: true }, toExpert).catch(
      (error: unknown) => error,
    )) as Thrown;
    expect(`${thrown.message} ${JSON.stringify(thrown.error)}`).toContain('ends in the middle of an answer');
    expect(await stage.metrics()).toContain('result="ProviderMalformed"} 1');
  });
});

describe('a stream', () => {
  const paths: readonly (readonly [string, object])[] = [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'x' }] }],
    ['/v1/responses', { input: 'x' }],
    ['/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: 'x' }] }],
  ];
  it.each(paths)('of %s arrives in pieces, and its reader ends the provider with it', async (path, body) => {
    const seen = Promise.withResolvers<void>();
    await stage.models({ baseURLs: [provider.url] });
    provider.play((_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(chunk({ content: 'first' }))}\n\n`);
      response.once('close', () => seen.resolve());
    });
    await stage.start({}, 60_000);
    const gone = new AbortController();
    const response = await fetch(`${stage.origin}${path}`, {
      method: 'POST',
      signal: gone.signal,
      headers: { 'content-type': 'application/json', ...toExpert },
      body: JSON.stringify({ model: 'x', stream: true, ...body }),
    });
    let text = '';
    for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      text += Buffer.from(piece).toString();
      if (text.includes('first')) break;
    }
    gone.abort();
    await seen.promise;
    await expect.poll(() => stage.metrics()).toContain('result="CallerGone"} 1');
  });

  it.each(paths)('of %s waits for a reader that does not read, for as long as the model has', async (path, body) => {
    let pieces = 0;
    await stage.models({ baseURLs: [provider.url], timeoutSeconds: 1 });
    provider.play((_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const piece = `data: ${JSON.stringify(chunk({ content: 'x'.repeat(100_000) }))}\n\n`;
      const more = (): void => {
        for (pieces += 1; !response.destroyed && response.write(piece);) pieces += 1;
      };
      response.on('drain', more);
      more();
    });
    await stage.start({}, 60_000);
    const gone = new AbortController();
    const request = { method: 'POST', signal: gone.signal, headers: { 'content-type': 'application/json', ...toExpert } };
    const response = await fetch(`${stage.origin}${path}`, { ...request, body: JSON.stringify({ model: 'x', stream: true, ...body }) });
    const growth = async (): Promise<number> => {
      const before = pieces;
      await delay(200);
      return pieces - before;
    };
    await expect.poll(growth, { timeout: 30_000 }).toBe(0);
    await expect.poll(() => stage.metrics(), { timeout: 10_000 }).toContain('agentfleet_gateway_in_flight{model="expert"} 0');
    // Nor does it keep the gateway from its end.
    await stage.stop();
    gone.abort();
    await response.body?.cancel().catch(() => undefined);
  });
});

it('asks the expert of the header, else that of the body', async () => {
  await stage.models({ baseURLs: [provider.url] }, { name: 'other', baseURLs: [provider.url] });
  provider.play(tell([{ content: 'Hello.' }]));
  await stage.start();
  expect((await stage.ask({ model: 'gpt-foreign' }, { 'agentfleet-expert': 'other' })).body.model).toBe('other');
  expect((await stage.ask({ model: 'expert' })).body.model).toBe('expert');
  expect((await stage.ask({ model: 'gpt-foreign' })).body.error.code).toBe('ModelUnknown');
});
