// The contract of the gateway, over HTTP against a provider that plays faults.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { breakOff, FakeProvider, raw, refuse, silence, tell, type Script } from './testing/provider.ts';
import { Stage } from './testing/harness.ts';

const provider = new FakeProvider();
let url = '';
let stage: Stage;
beforeAll(async () => {
  url = await provider.start();
});
afterAll(() => provider.stop());
beforeEach(async () => {
  stage = await Stage.open();
  await stage.models({ baseURLs: [url], credentialFile: stage.path('key') });
  await stage.start();
});
afterEach(() => stage.close());

const hello = tell([{ content: 'Hello.' }]);

describe('an answer', () => {
  it('comes from the provider, with the name of the expert, and the request went with key, path and bound', async () => {
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

  it('is metered by model, namespace and price', async () => {
    await stage.models({ baseURLs: [url], price: { input: '10', cachedInput: '1', output: '100' } });
    provider.play(hello);
    await stage.ask({}, { 'agentfleet-task': 'team-a/fix' });
    const metrics = await stage.metrics();
    expect(metrics).toContain('agentfleet_gateway_requests_total{model="expert",result="ok"} 1');
    expect(metrics).toContain('agentfleet_gateway_tokens_total{model="expert",kind="input",namespace="team-a"} 100');
    expect(metrics).toContain('agentfleet_gateway_tokens_total{model="expert",kind="cached",namespace="team-a"} 40');
    expect(metrics).toContain('agentfleet_gateway_tokens_total{model="expert",kind="output",namespace="team-a"} 20');
    expect(metrics).toContain('agentfleet_gateway_cost_total{model="expert",namespace="team-a"} 0.00264');
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
    expect(provider.calls.map((call) => call.body['n'])).toEqual([3, 1, 1]);
  });

  it('has them also from one that refuses n', async () => {
    const refusal = refuse(400, { error: { message: 'only n=1 is supported' } });
    provider.play((call, response) => (call.body['n'] === 1 ? hello : refusal)(call, response));
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

  it('needs the other name of the bound where the provider says so, once', async () => {
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
    await stage.models({ baseURLs: [url], model: 'another-model' });
    await stage.ask();
    expect(provider.calls[2]?.body).toMatchObject({ model: 'another-model' });
    expect(provider.calls[2]?.headers['authorization']).toBeUndefined();
  });

  it.each([
    ['empty', '\n', 'has no key'],
    ['of two lines', 'sk-1\nsk-2', 'no single line'],
  ])('with a key that is %s are told', async (_what, text, words) => {
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

type Row = readonly [what: string, script: Script, status: number, code: string, retryable: boolean, asked: number, words: RegExp];
const api = (status: number, message: string, code?: string): Script => refuse(status, { error: { message, code, type: 'x' } });
const faults: readonly Row[] = [
  [
    '429',
    refuse(429, { error: { message: 'slow down' } }, { 'retry-after': '0' }),
    429,
    'RateLimited',
    true,
    4,
    /fewer requests \(429: slow/,
  ],
  ['429 for an hour', refuse(429, {}, { 'retry-after': '3600' }), 429, 'RateLimited', true, 1, /requestsPerMinute/],
  ['an account without credit', api(429, 'no', 'insufficient_quota'), 400, 'ProviderRefused', false, 1, /no credit left.*billing/],
  ['500', api(500, 'oops'), 502, 'ProviderUnreachable', true, 4, /fails \(500: oops\)/],
  [
    '529',
    refuse(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    502,
    'ProviderUnreachable',
    true,
    4,
    /529/,
  ],
  ['an expired key', api(401, 'Incorrect API key provided: sk-first-key'), 500, 'CredentialRefused', false, 1, /\[key\].*renew the key/],
  ['an unknown model', api(404, 'The model `some-model` does not exist'), 404, 'ModelNotAtProvider', false, 1, /has no model some-model/],
  [
    'a model unknown to old vLLM',
    refuse(404, { message: 'The model `x` does not exist.' }),
    404,
    'ModelNotAtProvider',
    false,
    1,
    /no model/,
  ],
  ['a wrong path', refuse(404, { detail: 'Not Found' }), 400, 'ProviderRefused', false, 1, /no chat API there.*path of baseURL/],
  ['a web page', raw('<html>', 'text/html'), 502, 'ProviderMalformed', false, 1, /content type.*baseURL/],
  [
    'a long conversation',
    api(400, "This model's maximum context length is 8192"),
    400,
    'ContextExceeded',
    false,
    1,
    /so long a conversation/,
  ],
  ['a refused member', api(422, 'tools: not supported'), 400, 'ProviderRefused', false, 1, /422: tools: not supported/],
  ['broken JSON', raw('{"choices": [{'), 502, 'ProviderMalformed', true, 4, /not JSON/],
  ['no choices', raw('{"choices": []}'), 502, 'ProviderMalformed', true, 4, /choices must NOT have fewer than 1/],
  ['half an answer', breakOff('{"choices": [{'), 502, 'ProviderUnreachable', true, 4, /does not answer/],
  ['a redirect', refuse(307, {}, { location: 'http://evil.test/v1' }), 400, 'ProviderRefused', false, 1, /redirects to evil\.test/],
];

describe('a fault', () => {
  it.each(faults)('is told with code and cure: %s', async (_what, script, status, code, retryable, asked, words) => {
    provider.play(script);
    const answer = await stage.ask();
    expect({ ...answer.body.error, status: answer.status }).toMatchObject({ status, code, retryable });
    expect(answer.body.error.message).toMatch(words);
    expect(provider.calls).toHaveLength(asked);
    expect(answer.text + stage.log.join('') + (await stage.metrics())).not.toContain('sk-first-key');
    expect(await stage.metrics()).toContain(`agentfleet_gateway_requests_total{model="expert",result="${code}"} 1`);
  });

  it('that passes is not told', async () => {
    provider.play(api(500, 'oops'), refuse(429, {}, { 'retry-after-ms': '1' }), breakOff('{'), hello);
    expect((await stage.ask()).status).toBe(200);
    const metrics = await stage.metrics();
    expect(metrics).toContain('agentfleet_gateway_retries_total{model="expert",code="RateLimited"} 1');
    expect(metrics).toContain('agentfleet_gateway_retries_total{model="expert",code="ProviderUnreachable"} 2');
  });

  it('is told with when to ask again', async () => {
    provider.play(refuse(429, {}, { 'retry-after': '3600' }));
    expect((await stage.ask()).headers.get('retry-after')).toBe('3600');
  });

  it('is silence: it ends when the patience of the model does', async () => {
    await stage.models({ baseURLs: [url], timeoutSeconds: 1 });
    provider.play(silence);
    const { status, body } = await stage.ask();
    expect([status, body.error.code]).toEqual([504, 'ProviderTimeout']);
    expect(body.error.message).toContain('no answer within 1 s; raise timeoutSeconds');
    expect(provider.calls).toHaveLength(2);
  });

  it('is a host that is not there, or that nobody listens at', async () => {
    await stage.models({ baseURLs: ['http://127.0.0.1:1/v1'] });
    expect((await stage.ask()).body.error).toMatchObject({ code: 'ProviderUnreachable', retryable: true });
    await stage.models({ baseURLs: ['http://nobody.invalid/v1'] });
    expect((await stage.ask()).body.error.message).toMatch(/nobody\.invalid\/v1.*(no DNS server knows|does not answer)/);
  });

  it('of one model is the work of its fallback', async () => {
    const other = new FakeProvider();
    const fallback = { name: 'second', baseURLs: [await other.start()], model: 'other' };
    await stage.models({ baseURLs: [url], fallback: 'second' }, fallback);
    provider.play(api(500, 'oops'));
    other.play(hello);
    expect((await stage.ask()).body).toMatchObject({ model: 'second', choices: [{ message: { content: 'Hello.' } }] });
    expect(await stage.metrics()).toContain('agentfleet_gateway_fallbacks_total{model="expert",fallback="second"} 1');
    other.play(api(401, 'no'));
    const { body } = await stage.ask();
    expect(body.error).toMatchObject({ code: 'CredentialRefused', retryable: true });
    expect(body.error.message).toMatch(/expert: .*500.*; then second: .*401/);
    await other.stop();
  });

  it('of the conversation is no work for the fallback', async () => {
    await stage.models({ baseURLs: [url], fallback: 'second' }, { name: 'second', baseURLs: [url] });
    provider.play(api(400, 'prompt is too long'));
    expect((await stage.ask()).body.error.code).toBe('ContextExceeded');
    expect(provider.calls).toHaveLength(1);
  });
});

describe('a caller', () => {
  it.each([
    ['asks for no model of the pool', { model: 'gpt' }, 404, 'ModelUnknown', /no model gpt: the pool has expert/],
    ['sends no messages', { messages: [] }, 400, 'InvalidRequest', /messages: must NOT have fewer than 1/],
    ['wants a thousand choices', { n: 1000 }, 400, 'InvalidRequest', /n: must be <= 64/],
  ])('is refused that %s', async (_what, body, status, code, words) => {
    const answer = await stage.ask(body);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect(answer.body.error.message).toMatch(words);
  });

  it('who goes away ends the request and its retries', async () => {
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
