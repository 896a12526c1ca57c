// The gateway streams: the same contract, chunk by chunk.
import { describe, expect, it } from 'vitest';
import { createLog } from '@agentfleet/protocol/log';
import { createGatewayApp } from './app.ts';
import { Gateway } from './gateway.ts';
import { ModelsFile } from './models.ts';
import { createProviders, type Chunk, type Provider } from './providers/index.ts';
import { breakOff, chunk, raw, refuse, stream, tell, usage, type Script } from './testing/provider.ts';
import { quickPolicy, textOf } from './testing/harness.ts';
import { staging } from './testing/staging.ts';

const { provider, stage } = staging(() => ({}));

const head = chunk({ role: 'assistant', content: '' });
const hello = [head, chunk({ content: 'Hel' }), chunk({ content: 'lo.' }), chunk({}, 'stop')];
const begun = hello.slice(0, 2);
const metered = [...hello, { ...(chunk({}) as object), choices: [], usage }];

const sent = (events: readonly unknown[]): string => events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');

describe('a stream', () => {
  it('has the chunks of the provider, the name of the expert, and the usage last', async () => {
    provider.play(stream(metered));
    const streamed = await stage.stream();
    expect(textOf(streamed)).toBe('Hello.');
    expect(streamed.chunks.every(({ model }) => model === 'expert')).toBe(true);
    expect(streamed.chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 20 } });
    expect(streamed.done).toBe(true);
    expect(provider.calls[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(await stage.metrics()).toContain('agentfleet_gateway_requests_total{model="expert",result="ok"} 1');
  });

  it('has a choice in every chunk where its caller asks for no usage, and the members that strict clients need', async () => {
    provider.play(stream(metered.map((each) => ({ ...(each as object), object: undefined, created: undefined }))));
    const { chunks, done } = await stage.stream({ stream_options: null });
    expect(chunks.map(({ choices }) => choices.length)).toEqual([1, 1, 1, 1]);
    for (const each of chunks) expect(each).toMatchObject({ object: 'chat.completion.chunk', created: expect.any(Number) as number });
    expect(done).toBe(true);
  });

  it('without usage is estimated', async () => {
    provider.play(stream(hello));
    expect((await stage.stream()).chunks.at(-1)?.usage).toMatchObject({ estimated: true, completion_tokens: 2 });
  });

  const bare = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
  it.each([
    ['results of a filter', { ...bare, choices: [{ index: 0, content_filter_results: {}, finish_reason: null }] }],
    ['nothing in a choice', { ...bare, choices: [{ index: 0, delta: null, finish_reason: null }] }],
    ['its usage alone', { ...bare, usage }],
    ['a choice without an index', { ...bare, choices: [{ delta: {} }] }],
    ['no choices', { ...bare, choices: null }],
    ['a usage that counts nothing', { ...bare, choices: [], usage: {} }],
  ])('goes on after a chunk that has %s', async (_what, event) => {
    provider.play(stream([...hello.slice(0, 2), event, ...metered.slice(2)]));
    const streamed = await stage.stream();
    expect([textOf(streamed), streamed.done]).toEqual(['Hello.', true]);
    expect(streamed.chunks.every(({ choices }) => choices.every(({ index }) => index === 0))).toBe(true);
    expect(streamed.chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 20 });
  });

  it('is tried again until its first chunk', async () => {
    provider.play(refuse(500, {}), refuse(429, {}, { 'retry-after': '0' }), raw('', 'text/event-stream'), stream(metered));
    expect(textOf(await stage.stream())).toBe('Hello.');
    expect(provider.calls).toHaveLength(4);
  });

  const blank = chunk({ content: '', tool_calls: null, reasoning_content: null });
  const filters = { choices: [], prompt_filter_results: [] };
  const dead = { error: { message: 'EngineDeadError' } };
  it.each<readonly [what: string, script: Script]>([
    ['its role, and says that it failed', stream([head, dead])],
    ['pieces without an answer, and says that it failed', stream([filters, head, blank, dead])],
    ['its role, and breaks off', breakOff(sent([head]), 'text/event-stream')],
    ['its role, and ends', stream([head], false)],
    ['its role, and says that this is all', stream([head])],
    ['its role, and a chunk that is no JSON', raw(`${sent([head])}data: {"cho\n\n`, 'text/event-stream')],
  ])('is tried again until a part of its answer has come: after %s', async (_what, script) => {
    provider.play(script, stream(metered));
    const streamed = await stage.stream();
    expect([textOf(streamed), streamed.done, provider.calls.length]).toEqual(['Hello.', true, 2]);
    expect(streamed.chunks.filter(({ choices }) => choices[0]?.delta.role !== undefined)).toHaveLength(1);
  });

  it('that never gets beyond its role is refused by its status, and charged with what it reports', async () => {
    provider.play(stream([{ ...(head as object), usage }, { error: { message: 'slow down', code: 429 } }]));
    const refused = await stage.stream();
    expect(refused).toMatchObject({ status: 429, error: { code: 'RateLimited', usage: { prompt_tokens: 400 } } });
    expect(provider.calls).toHaveLength(4);
  });

  it('is waited for after its role, as before it: models think in silence', async () => {
    provider.play((_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(sent([head]));
      setTimeout(() => response.end(sent(metered.slice(1))), 700);
    });
    expect(textOf(await stage.stream())).toBe('Hello.');
  });

  it('with very many pieces without an answer begins all the same', async () => {
    provider.play(stream([...Array.from({ length: 100 }, () => blank), ...metered]));
    const streamed = await stage.stream();
    expect([textOf(streamed), streamed.chunks.length]).toEqual(['Hello.', 100 + metered.length]);
  });

  const calling = (args: string, index = 0): unknown =>
    chunk({ tool_calls: [{ index, id: `call-${index}`, type: 'function', function: { name: 'bash', arguments: args } }] });
  it.each<readonly [what: string, events: readonly unknown[], end: string]>([
    ['text', begun, 'stop'],
    ['thoughts', [head, chunk({ reasoning_content: 'Hm.' })], 'stop'],
    ['an empty reason in each chunk', [head, chunk({ content: 'Hel' }, '')], 'stop'],
    ['calls', [...begun, calling('{"command": "[1"}'), calling('', 1)], 'tool_calls'],
    ['as many tokens as it may have', [...begun, { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1000 } }], 'length'],
    ['a call that ends in the middle', [head, calling('{"command": "ls'), calling('{}', 1)], 'length'],
  ])('whose server says that this is all, and no reason, has one by what came: %s', async (_what, events, end) => {
    provider.play(stream(events));
    const { chunks, done, error } = await stage.stream();
    expect(error).toBeUndefined();
    const ends = chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason)).filter((each) => each !== null);
    expect([ends, done, provider.calls.length]).toEqual([[end], true, 1]);
  });

  it('of several choices has the missing reason of one', async () => {
    provider.play(stream([head, chunk({ content: 'a' }, 'length'), chunk({ content: 'b' }, null, 1)]));
    const { chunks } = await stage.stream({ n: 2 });
    const ends = chunks.flatMap(({ choices }) => choices.map(({ index, finish_reason: end }) => [index, end]));
    expect(ends.filter(([, end]) => end !== null)).toEqual([[0, 'length'], [1, 'stop']]); // prettier-ignore
  });

  it('that quotes the end of a stream has not ended', async () => {
    provider.play(stream([head, chunk({ content: '\ndata: [DONE]' })], false));
    expect(await stage.stream()).toMatchObject({ done: false, error: { code: 'ProviderMalformed' } });
  });

  it.each<readonly [what: string, script: Script]>([
    ['breaks off', breakOff(sent(hello), 'text/event-stream')],
    ['stays open', raw(sent(hello), 'text/event-stream', false)],
    ['stays open after its last line', raw(`${sent(hello)}data: [DONE]\n\n`, 'text/event-stream', false)],
    ['reports a fault', stream([...hello, { error: { message: 'no usage' } }])],
  ])('that has ended is whole where its connection %s', async (_what, script) => {
    provider.play(script);
    const streamed = await stage.stream();
    expect([textOf(streamed), streamed.done, provider.calls.length]).toEqual(['Hello.', true, 1]);
    expect(streamed.chunks.at(-1)?.usage).toMatchObject({ estimated: true });
  });

  it.each([
    ['a filter', { code: 'content_filter' }, '', 'content_filter'],
    ['a call that cannot be read', { code: 'tool_use_failed', failed_generation: '<function=x>' }, '<function=x>', 'stop'],
  ])('that is refused for %s is a whole answer, with as many choices as were asked for', async (_what, error, text, finish) => {
    provider.play(refuse(400, { error: { message: 'no', ...error } }));
    const streamed = await stage.stream({ n: 2 });
    expect([textOf(streamed, 0), textOf(streamed, 1), streamed.done]).toEqual([text, text, true]);
    const ends = streamed.chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason));
    expect(ends.filter((end) => end !== null)).toEqual([finish, finish]);
    expect(streamed.chunks.at(-1)?.usage).toMatchObject({ estimated: true });
    expect(provider.calls).toHaveLength(1);
  });

  it('that breaks off at a call that cannot be read is a whole answer', async () => {
    const error = {
      message: 'no',
      type: 'invalid_request_error',
      code: 'tool_use_failed',
      failed_generation: '<function=x>',
      status_code: 400,
    };
    provider.play(stream([head, chunk({ content: 'I look. ' }), { error }], false));
    const streamed = await stage.stream();
    expect([textOf(streamed), streamed.done]).toEqual(['I look. <function=x>', true]);
    expect(streamed.chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason)).at(-1)).toBe('stop');
    expect(provider.calls).toHaveLength(1);
  });

  it('of a server that refuses to be asked for its usage is asked for without, from then on at once', async () => {
    const detail = [{ type: 'extra_forbidden', loc: ['body', 'stream_options', 'include_usage'], msg: 'Extra inputs are not permitted' }];
    const refusal = refuse(422, { object: 'error', message: { detail }, type: 'invalid_request_error' });
    provider.play((call, response) => ('stream_options' in call.body ? refusal : stream(metered))(call, response));
    for (const asked of [2, 3]) {
      expect((await stage.stream()).chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 100 });
      expect(provider.calls).toHaveLength(asked);
    }
  });

  it('of parts is one of texts', async () => {
    const parts = (...content: readonly object[]): unknown => chunk({ content });
    const thought = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] };
    provider.play(stream([parts(thought), parts({ type: 'text', text: 'Hel' }), chunk({ content: 'lo.' }), chunk({}, 'model_length')]));
    const streamed = await stage.stream();
    expect([textOf(streamed), streamed.chunks.at(-2)?.choices[0]?.finish_reason]).toEqual(['Hello.', 'length']);
  });

  it.each<readonly [what: string, member: string, pieces: readonly object[], whole: readonly object[]]>([
    [
      'OpenRouter',
      'reasoning_details',
      [{ index: 0, text: 'Look' }, { index: 0, text: ' first.' }, { index: 0, signature: 'c2' }, { index: 1, data: 'x' }, { index: 1, data: 'y' }],
      [{ index: 0, text: 'Look first.', signature: 'c2' }, { index: 1, data: 'x' }, { index: 1, data: 'y' }],
    ],
    [
      'LiteLLM',
      'thinking_blocks',
      [{ thinking: 'Look', signature: null }, { thinking: ' first.' }, { thinking: '', signature: 'c2' }, { thinking: 'Then', signature: 'd3' }],
      [{ thinking: 'Look first.', signature: 'c2' }, { thinking: 'Then', signature: 'd3' }],
    ],
  ])('keeps signed thoughts whole, as their server takes them back: %s', async (_what, member, pieces, whole) => {
    const typed = (part: object): object => ({ type: 'thinking', ...part });
    provider.play(stream([...pieces.map((piece) => chunk({ [member]: [typed(piece)] })), ...hello]));
    const deltas = (await stage.stream()).chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta as object));
    expect(deltas.at(-1)).toMatchObject({ provider_state: { message: { [member]: whole.map(typed) } } });
  }); // prettier-ignore

  it('that cannot begin is refused by its status', async () => {
    provider.play(refuse(401, { error: { message: 'expired' } }));
    expect(await stage.stream()).toMatchObject({ status: 500, error: { code: 'CredentialRefused' } });
  });

  it.each([
    ['ends in the middle', stream(begun, false), 'ProviderMalformed', /ends in the middle/],
    ['ends so with an empty reason', stream([head, chunk({ content: 'Hel' }, '')], false), 'ProviderMalformed', /ends in the middle/],
    ['says that it failed', stream([...begun, { error: { message: 'EngineDeadError' } }]), 'ProviderUnreachable', /EngineDeadError/],
    ['names a status', stream([...begun, { error: { message: 'slow down', code: 429 } }]), 'RateLimited', /429: slow down/],
    [
      'names a status as Groq does',
      stream([...begun, { error: { message: 'over capacity', type: 'invalid_request_error', status_code: 503 } }]),
      'ProviderUnreachable',
      /fails \(503: over capacity\)/,
    ],
    [
      'names a limit by its code',
      stream([...begun, { error: { message: 'enough', type: 'tokens', code: 'rate_limit_exceeded' } }]),
      'RateLimited',
      /429: enough/,
    ],
    [
      'has a choice that failed',
      stream([...begun, { choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { code: 502, message: 'gone' } }] }]),
      'ProviderUnreachable',
      /fails \(502: gone\)/,
    ],
    ['is no JSON', raw(`${sent(begun)}data: {"cho\n\n`, 'text/event-stream'), 'ProviderMalformed', /not JSON/],
    ['breaks off', breakOff(sent(begun), 'text/event-stream'), 'ProviderUnreachable', /does not answer/],
    ['falls silent', raw(sent(begun), 'text/event-stream', false), 'ProviderTimeout', /silent for 0.5 s/],
  ])('that %s ends with an error, and is not tried again', async (_what, script, code, words) => {
    provider.play(script);
    const streamed = await stage.stream();
    expect(streamed).toMatchObject({ status: 200, done: false, error: { code, retryable: true } });
    expect(streamed.error?.message).toMatch(words);
    // What came of it is billed.
    expect(streamed.error?.usage).toMatchObject({ estimated: true, prompt_tokens: 4 });
    expect(await stage.metrics()).toContain('agentfleet_gateway_tokens_total{model="expert",kind="input",task_namespace="none"} 4');
    expect(provider.calls).toHaveLength(1);
    expect(await stage.metrics()).toContain(`agentfleet_gateway_requests_total{model="expert",result="${code}"} 1`);
    expect(await stage.metrics()).toContain('agentfleet_gateway_in_flight{model="expert"} 0');
  });

  it('is charged with what failed before it began, or alone where it never does', async () => {
    const failed = { index: 0, delta: {}, finish_reason: 'error', error: { code: 502, message: 'gone' } };
    const none = stream([{ choices: [failed], usage }]);
    provider.play(none, stream(metered));
    expect((await stage.stream()).chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 200, completion_tokens: 40, estimated: true });
    provider.play(none);
    expect(await stage.stream()).toMatchObject({ status: 502, error: { usage: { prompt_tokens: 400, completion_tokens: 80 } } });
    expect(await stage.metrics()).toContain('agentfleet_gateway_tokens_total{model="expert",kind="input",task_namespace="none"} 600');
  });

  it('whose caller leaves in the middle is metered as far as it came', async () => {
    provider.play(raw(sent(begun), 'text/event-stream', false));
    const leaving = new AbortController();
    const messages = [{ role: 'user', content: 'Say hello.' }];
    const response = await fetch(`${stage.origin}/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'expert', stream: true, messages }),
    });
    await response.body?.getReader().read();
    leaving.abort();
    await expect.poll(() => stage.metrics()).toContain('result="CallerGone"} 1');
    expect(await stage.metrics()).toContain('agentfleet_gateway_tokens_total{model="expert",kind="input",task_namespace="none"} 4');
  });

  it('with a chunk that our code fails on is a failure of ours, and the log says where', async () => {
    provider.play(stream([...begun, { choices: [null] }]));
    const { error } = await stage.stream();
    expect(error).toMatchObject({ code: 'Internal', retryable: false });
    expect(error?.message).toMatch(/the gateway failed on an answer of .*: its log says why/);
    expect(stage.log.join('')).toMatch(/TypeError: .*providers\/openai\.ts/);
  });

  it('has the choices that a provider leaves out', async () => {
    const whole = tell([{ content: 'Hi.' }]);
    provider.play((call, response) => (call.body['stream'] === true ? stream(metered) : whole)(call, response));
    const streamed = await stage.stream({ n: 2 });
    expect([textOf(streamed, 0), textOf(streamed, 1)]).toEqual(['Hello.', 'Hi.']);
    expect(streamed.chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 200, completion_tokens: 40 });
  });

  it('assembles calls from their pieces, and keeps the state of the provider', async () => {
    const call = (piece: object): unknown => chunk({ tool_calls: [{ index: 0, ...piece }] });
    const events = [
      chunk({ role: 'assistant', reasoning_content: 'I ' }),
      chunk({ reasoning_content: 'think' }),
      call({ id: 'a', type: 'function', function: { name: 'bash', arguments: '' } }),
      call({ function: { arguments: '{"command":' } }),
      call({ function: { arguments: '"ls"}' } }),
      chunk({}, 'tool_calls'),
    ];
    provider.play(stream(events));
    const { chunks } = await stage.stream();
    const states = chunks.flatMap(({ choices }) =>
      choices.flatMap(({ delta }) => ('provider_state' in delta ? [delta.provider_state] : [])),
    );
    expect(states).toEqual([{ engine: 'OpenAI', model: 'some-model', message: { reasoning_content: 'I think' }, calls: {} }]);
  });
});

it.each(['models', 'provider'])('a stream whose caller goes away while it waits for the %s keeps no place', async (where) => {
  const arrived = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const at = async (here: string): Promise<void> => {
    if (here !== where) return;
    arrived.resolve();
    await gone.promise;
  };
  let asked = 0;
  const slow: Provider = {
    several: true,
    complete: () => Promise.reject(new Error('not asked')),
    async *stream() {
      asked += 1;
      await at('provider');
      yield chunk({ content: 'Hello.' }) as Chunk;
    },
  };
  class SlowFile extends ModelsFile {
    override async current(): ReturnType<ModelsFile['current']> {
      await at('models');
      return super.current();
    }
  }
  const now = (): number => performance.now();
  const gateway = new Gateway({
    models: new SlowFile(stage.path('models.json'), { now: Date.now }, () => undefined),
    providers: { ...createProviders(), OpenAI: slow },
    policy: quickPolicy,
    silenceMs: 500,
    recorder: null,
    now,
    random: Math.random,
  });
  const never = new AbortController().signal;
  const logger = createLog('error', () => undefined, Date.now);
  const app = createGatewayApp({ gateway, gate: () => Promise.resolve(), logger, stopping: never, ended: never, now });
  app.server.on('connection', (socket) => socket.once('close', () => setImmediate(gone.resolve)));
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  const leaving = new AbortController();
  const left = fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'expert', stream: true, messages: [{ role: 'user', content: 'x' }] }),
  });
  await arrived.promise;
  leaving.abort();
  await expect(left).rejects.toThrow();
  const metrics = (): Promise<string> => gateway.metrics.registry.metrics();
  await expect.poll(metrics).toContain('agentfleet_gateway_requests_total{model="expert",result="CallerGone"} 1');
  await expect.poll(metrics).toContain('agentfleet_gateway_in_flight{model="expert"} 0');
  expect(asked).toBe(where === 'models' ? 0 : 1);
  await app.close();
});
