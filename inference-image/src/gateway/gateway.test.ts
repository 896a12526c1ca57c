// The contract of the gateway, over HTTP against a provider that a test plays.
import { describe, expect, it } from 'vitest';
import { raw, refuse, silence, tell, usage } from './testing/provider.ts';
import { staging } from './testing/staging.ts';

const { provider, stage } = staging((stage) => ({ credentialFile: stage.path('key') }));

const hello = tell([{ content: 'Hello.' }]);
const thinkingParts = [
  { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
  { type: 'text', text: 'Hel' },
  { type: 'text', text: 'lo.' },
];
const signedCall = { id: `call_1__thought__${'A'.repeat(2000)}`, type: 'function', function: { name: 'bash', arguments: '{}' } };

describe('an answer', () => {
  it('is from the provider, with the name of the expert, and the request had key, path and limit', async () => {
    provider.play(hello);
    const tools = [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }];
    const { status, body } = await stage.ask({ tools, response_format: { type: 'text' }, temperature: 0.5, max_completion_tokens: 50_000 });
    expect(status).toBe(200);
    expect(body).toMatchObject({ model: 'expert', choices: [{ index: 0, message: { content: 'Hello.' }, finish_reason: 'stop' }] });
    expect(body.usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 40 } });
    const [call] = provider.calls;
    expect(call).toMatchObject({ path: '/api/v1/chat/completions', headers: { authorization: 'Bearer sk-first-key' } });
    expect(call?.body).toMatchObject({ model: 'some-model', tools, response_format: { type: 'text' }, temperature: 0.5, max_tokens: 1000 });
    expect(call?.body).not.toHaveProperty('max_completion_tokens');
  });

  it('is asked for without what the pool decides: other models, prices, and acts of the provider', async () => {
    provider.play(hello);
    const more = { models: ['dearest'], route: 'fallback', provider: { order: [] }, plugins: [{ id: 'web' }], service_tier: 'priority' };
    await stage.ask({ ...more, web_search_options: {}, seed: 7 });
    const { body } = provider.calls[0]!;
    expect(body).toMatchObject({ model: 'some-model', seed: 7 });
    for (const name of [...Object.keys(more), 'web_search_options']) expect(body).not.toHaveProperty(name);
  });

  it('is metered by model, namespace and price', async () => {
    await stage.models({ baseURLs: [provider.url], price: { input: '10', cachedInput: '1', output: '100' } });
    provider.play(hello);
    await stage.ask({}, { 'agentfleet-task': 'team-a/fix' });
    const metrics = await stage.metrics();
    expect(metrics).toContain('agentfleet_gateway_requests_total{model="expert",result="ok"} 1');
    expect(metrics).toContain('agentfleet_gateway_tokens_total{model="expert",kind="input",task_namespace="team-a"} 100');
    expect(metrics).toContain('agentfleet_gateway_tokens_total{model="expert",kind="cached",task_namespace="team-a"} 40');
    expect(metrics).toContain('agentfleet_gateway_tokens_total{model="expert",kind="output",task_namespace="team-a"} 20');
    expect(metrics).toContain('agentfleet_gateway_cost_total{model="expert",task_namespace="team-a"} 0.00264');
    expect(metrics).toContain('agentfleet_gateway_in_flight{model="expert"} 0');
  });

  it('without usage is estimated, and marked', async () => {
    provider.play(tell([{ content: 'Hello.' }], {}));
    expect((await stage.ask()).body.usage).toMatchObject({ estimated: true, prompt_tokens: 4, completion_tokens: 2 });
  });

  it('keeps parallel calls, broken arguments and log probabilities as they are', async () => {
    const call = (id: string, args: unknown): unknown => ({ id, type: 'function', function: { name: 'bash', arguments: args } });
    const logprobs = { content: [{ token: 'x', logprob: 0, bytes: null, top_logprobs: [] }] };
    const calls = [call('a', '{"command": "ls'), call('b', '{}'), call('b', { command: 'pwd' })];
    provider.play((given, response) => {
      const choice = { index: 0, message: { role: 'assistant', content: null, tool_calls: calls }, finish_reason: 'tool_calls', logprobs };
      refuse(200, { choices: [choice] })(given, response);
    });
    const [choice] = (await stage.ask({ logprobs: true })).body.choices;
    expect(provider.calls[0]?.body).toMatchObject({ logprobs: true });
    expect(choice).toMatchObject({ logprobs, message: { tool_calls: [call('a', '{"command": "ls'), call('b', '{}'), {}] } });
    // An id that occurs twice, and arguments that are no text, are put right.
    const [, , last] = choice?.message.tool_calls ?? [];
    expect(last).toMatchObject({ function: { arguments: '{"command":"pwd"}' } });
    expect(last?.id).not.toBe('b');
  });

  it('has as many choices as were asked for, from a provider that ignores n', async () => {
    provider.play(hello);
    const { body } = await stage.ask({ n: 3 });
    expect(body.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(body.usage).toMatchObject({ prompt_tokens: 300, completion_tokens: 60 });
    expect(provider.calls.map((call) => call.body['n'])).toEqual([3, undefined, undefined]);
  });

  it.each<readonly [what: string, more: object, usage: object]>([
    ['an id and a model of null', { id: null, model: null }, usage],
    ['no usage', { usage: null }, { estimated: true }],
    ['an empty usage', { usage: {} }, { estimated: true }],
    ['one count', { usage: { prompt_tokens: 5 } }, { estimated: true }],
    [
      'a count of null',
      { usage: { prompt_tokens: 5, completion_tokens: null, total_tokens: 9 } },
      { prompt_tokens: 5, completion_tokens: 4 },
    ],
    ['a fraction', { usage: { prompt_tokens: 5, completion_tokens: 2.5 } }, { completion_tokens: 3 }],
    [
      'thoughts that xAI and Gemini count in the total alone',
      { usage: { prompt_tokens: 6, completion_tokens: 9, total_tokens: 1025 } },
      { completion_tokens: 1019 },
    ],
    [
      'the cached tokens of Moonshot',
      { usage: { prompt_tokens: 60, completion_tokens: 9, cached_tokens: 50 } },
      { prompt_tokens_details: { cached_tokens: 50 } },
    ],
    [
      'the cached tokens of DeepSeek',
      { usage: { prompt_tokens: 60, completion_tokens: 9, prompt_cache_hit_tokens: 40 } },
      { prompt_tokens_details: { cached_tokens: 40 } },
    ],
    [
      'a count below zero',
      { usage: { prompt_tokens: 5, completion_tokens: 3, prompt_tokens_details: { cached_tokens: -1 } } },
      { prompt_tokens: 5, completion_tokens: 3 },
    ],
  ])('is taken with %s', async (_what, more, used) => {
    provider.play(tell([{ content: 'Hello.' }], { usage, ...more }));
    const { status, body } = await stage.ask();
    expect([status, body.choices[0]?.message.content]).toEqual([200, 'Hello.']);
    expect(body.usage).toMatchObject(used);
    expect(provider.calls).toHaveLength(1);
  });

  it.each<readonly [what: string, choice: object, read: object]>([
    ['an empty role', { message: { role: '', content: 'x' } }, { message: { role: 'assistant', content: 'x' } }],
    ['another role', { message: { role: 'model', content: 'x' } }, { message: { role: 'assistant' } }],
    ['a role of null', { message: { role: null, content: 'x', tool_call_id: null } }, { message: { role: 'assistant' } }],
    ['an index of null', { index: null, message: { content: 'x' } }, { index: 0 }],
    ['another reason', { finish_reason: 1, message: { content: 'x' } }, { finish_reason: null }],
    [
      'log probabilities of null',
      { logprobs: { content: [{ token: 'a', logprob: null }] }, message: { content: 'x' } },
      { logprobs: null },
    ],
    ['a list of log probabilities', { logprobs: [], message: { content: 'x' } }, { logprobs: null }],
    ['no message, as a filter held it back', { finish_reason: 'content_filter' }, { message: { content: null } }],
    ['no message, in the words of Gemini', { finish_reason: 'content_filter: RECITATION' }, { finish_reason: 'content_filter' }],
    ['an end at the window, in the words of Mistral', { finish_reason: 'model_length', message: {} }, { finish_reason: 'length' }],
    ['parts, as those of Mistral that think', { message: { content: thinkingParts } }, { message: { content: 'Hello.' } }],
    ['a call with a signature in its id', { message: { tool_calls: [signedCall] } }, { message: { tool_calls: [signedCall] } }],
  ])('is taken whose choice has %s', async (_what, choice, read) => {
    provider.play(refuse(200, { choices: [{ index: 0, finish_reason: 'stop', ...choice }], usage }));
    const { status, body } = await stage.ask();
    expect(status).toBe(200);
    expect(body.choices[0]).toMatchObject(read);
    expect(body.usage).toMatchObject({ prompt_tokens: 100 });
    expect(provider.calls).toHaveLength(1);
  });

  it('is taken as JSON whatever its type', async () => {
    provider.play(raw('{"choices": [{"message": {"content": "Hello."}, "finish_reason": "function_call"}]}', 'text/plain'));
    expect((await stage.ask()).body.choices).toMatchObject([{ message: { content: 'Hello.' }, finish_reason: 'tool_calls' }]);
  });

  it('has the choices that did not fail, and others in the place of those that did', async () => {
    const failed = { index: 0, finish_reason: 'error', message: { role: 'assistant', content: '' } };
    const whole = { index: 1, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } };
    provider.play(refuse(200, { choices: [failed, whole], usage }), hello);
    expect((await stage.ask({ n: 2 })).body.choices.map(({ message }) => message.content)).toEqual(['Hello.', 'Hello.']);
  });

  it('has them also from one that refuses n', async () => {
    const refusal = refuse(400, { error: { message: 'only n=1 is supported' } });
    provider.play((call, response) => ('n' in call.body ? refusal : hello)(call, response));
    expect((await stage.ask({ n: 2 })).body.choices).toHaveLength(2);
  });

  it('takes members that the provider wants back through to the next request, and shows them to no other model', async () => {
    provider.play(tell([{ content: 'Hm.', reasoning_content: 'I think' }]));
    const [choice] = (await stage.ask()).body.choices;
    const messages = [{ role: 'user', content: 'a' }, choice?.message, { role: 'user', content: 'b' }];
    provider.play(hello);
    await stage.ask({ messages });
    expect(provider.calls[0]?.body['messages']).toMatchObject([{}, { content: 'Hm.', reasoning_content: 'I think' }, {}]);
    expect(JSON.stringify(provider.calls[0]?.body)).not.toContain('provider_state');
  });

  it('is asked for without secrets', async () => {
    provider.play(hello);
    const secret = `ghp_${'a1B2'.repeat(9)}`;
    await stage.ask({ messages: [{ role: 'tool', tool_call_id: 'x', content: `token ${secret}` }] });
    expect(provider.calls[0]?.body['messages']).toEqual([{ role: 'tool', tool_call_id: 'x', content: 'token [REDACTED:Token]' }]);
    expect(await stage.metrics()).toContain('agentfleet_gateway_redactions_total{kind="Token"} 1');
  });

  it.each([
    ['the older name', { max_tokens: 7 }, 7],
    ['both names', { max_tokens: 7, max_completion_tokens: 9 }, 9],
    ['more than the model may write', { max_tokens: 50_000 }, 1000],
  ])('is bounded as its caller asks by %s, and the provider gets one name', async (_what, bounds, most) => {
    const refusal = refuse(400, { error: { message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead." } });
    provider.play((call, response) => ('max_tokens' in call.body ? refusal : hello)(call, response));
    expect((await stage.ask(bounds)).status).toBe(200);
    expect(provider.calls.map(({ body }) => [body['max_tokens'], body['max_completion_tokens']])).toEqual([
      [most, undefined],
      [undefined, most],
    ]);
  });

  it('uses the other name of the limit where the provider demands it, once', async () => {
    const refusal = refuse(400, { error: { message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead." } });
    provider.play((call, response) => ('max_tokens' in call.body ? refusal : hello)(call, response));
    expect((await stage.ask()).status).toBe(200);
    expect((await stage.ask()).status).toBe(200);
    expect(provider.calls.map(({ body }) => 'max_tokens' in body)).toEqual([true, false, false]);
  });
});

describe('files', () => {
  it('are read again: the key of the next request is that on the disk', async () => {
    provider.play(hello);
    await stage.ask();
    await stage.write('key', 'sk-second-key');
    await stage.ask();
    expect(provider.calls.map(({ headers }) => headers['authorization'])).toEqual(['Bearer sk-first-key', 'Bearer sk-second-key']);
    await stage.models({ baseURLs: [provider.url], model: 'another-model' });
    await stage.ask();
    expect(provider.calls[2]?.body).toMatchObject({ model: 'another-model' });
    expect(provider.calls[2]?.headers['authorization']).toBeUndefined();
  });

  it.each([
    ['empty', '\n', 'has no key'],
    ['of two lines', 'sk-1\nsk-2', 'no single line'],
  ])('with a key that is %s get a code', async (_what, text, words) => {
    await stage.write('key', text);
    const { status, body, text: whole } = await stage.ask();
    expect([status, body.error.code, body.error.retryable]).toEqual([500, 'CredentialMissing', false]);
    expect(whole).toContain(words);
    expect(whole).not.toContain('sk-1');
  });

  it('that become useless leave the models as they are', async () => {
    provider.play(hello);
    await stage.ask();
    await stage.write('models.json', '{');
    stage.time += 10_000;
    provider.play(hello);
    expect((await stage.ask()).status).toBe(200);
    expect(stage.log.join('')).toContain('the models cannot be read');
  });
});

describe('waiting requests', () => {
  it('is refused where it waited too long, without another try', async () => {
    await stage.models({ baseURLs: [provider.url], concurrency: 1, timeoutSeconds: 1, requestsPerMinute: 1 });
    provider.play(hello);
    expect((await stage.ask()).status).toBe(200);
    const { status, body } = await stage.ask();
    expect([status, body.error.code, body.error.retryable]).toEqual([429, 'RateLimited', true]);
    expect(provider.calls).toHaveLength(1);
    expect(await stage.metrics()).not.toContain('agentfleet_gateway_retries_total{');
  });

  it('in another form, which a server asks for, count as requests of the minute', async () => {
    await stage.models({ baseURLs: [provider.url], concurrency: 1, timeoutSeconds: 1, requestsPerMinute: 1 });
    provider.play(refuse(400, { error: { message: "Unsupported parameter: 'temperature' is not supported with this model." } }), hello);
    const { status, body } = await stage.ask({ temperature: 0 });
    expect([status, body.error.code, provider.calls.length]).toEqual([429, 'RateLimited', 1]);
    expect(await stage.metrics()).not.toContain('agentfleet_gateway_retries_total{');
  });

  it('has its time when the gateway stops, and no more is taken', async () => {
    provider.play((call, response) => void setTimeout(() => hello(call, response), 300));
    const asked = stage.ask();
    await expect.poll(() => provider.calls.length).toBe(1);
    const stopped = stage.stop();
    expect((await asked).status).toBe(200);
    await stopped;
  });

  it('longer than that is refused with when to ask again', async () => {
    provider.play(silence);
    const asked = stage.ask();
    await expect.poll(() => provider.calls.length).toBe(1);
    await stage.stop();
    expect((await asked).body.error).toMatchObject({ code: 'Stopping', retryable: true });
  });
});

describe('a caller', () => {
  it("may write null for what is absent, as the vendor's library does", async () => {
    provider.play(hello);
    const said = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'b', arguments: '{}' } }],
    };
    const result = { role: 'tool', tool_call_id: 'a', content: 'ok' };
    const user = { role: 'user', content: 'Say hello.' };
    await stage.ask({ messages: [user, said, result] });
    const absent = { stop: null, temperature: null, n: null, stream: null, max_completion_tokens: null, tools: null, tool_choice: null };
    const unset = { refusal: null, audio: null, function_call: null };
    await stage.ask({
      messages: [
        { ...user, tool_calls: null },
        { ...said, ...unset },
        { ...result, tool_calls: null },
      ],
      ...absent,
    });
    expect(provider.calls[1]?.body).toEqual(provider.calls[0]?.body);
    expect(provider.calls).toHaveLength(2);
  });

  it.each([
    ['asks for no model of the pool', { model: 'gpt' }, 404, 'ModelUnknown', /no model gpt: the pool has expert/],
    ['sends what is no JSON object', { messages: 7 }, 400, 'InvalidRequest', /messages: must be array/],
    ['sends no messages', { messages: [] }, 400, 'InvalidRequest', /messages: must NOT have fewer than 1/],
    ['wants no tokens', { max_tokens: 0 }, 400, 'InvalidRequest', /max_tokens: must be >= 1/],
    ['wants a thousand choices', { n: 1000 }, 400, 'InvalidRequest', /n: must be <= 64/],
  ])('is refused that %s', async (_what, body, status, code, words) => {
    const answer = await stage.ask(body);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect(answer.body.error.message).toMatch(words);
  });

  it('a disconnected caller ends the request and its retries', async () => {
    const gone = Promise.withResolvers<void>();
    provider.play((_call, response) => void response.once('close', gone.resolve));
    const leaving = new AbortController();
    const asked = fetch(`${stage.origin}/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'expert', messages: [{ role: 'user', content: 'x' }] }),
    });
    await expect.poll(() => provider.calls.length).toBe(1);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await gone.promise;
    expect(provider.calls).toHaveLength(1);
    await expect.poll(() => stage.metrics()).toContain('agentfleet_gateway_requests_total{model="expert",result="CallerGone"} 1');
  });

  it('learns the models', async () => {
    expect(await (await fetch(`${stage.origin}/v1/models`)).json()).toMatchObject({ object: 'list', data: [{ id: 'expert' }] });
    expect((await fetch(`${stage.origin}/readyz`)).status).toBe(200);
  });
});
