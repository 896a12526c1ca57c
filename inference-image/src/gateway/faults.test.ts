// Faults of providers: code, cure, and how often they are asked.
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { breakOff, FakeProvider, flood, raw, refuse, silence, tell, type Script } from './testing/provider.ts';
import { staging } from './testing/staging.ts';

const { provider, stage } = staging((stage) => ({ credentialFile: stage.path('key') }));

const hello = tell([{ content: 'Hello.' }]);
const api = (status: number, message: string, code?: string): Script => refuse(status, { error: { message, code, type: 'x' } });

const groqRate = {
  error: {
    message:
      'Rate limit reached for model `llama` in organization `o` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77ms. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing',
    type: 'tokens',
    code: 'rate_limit_exceeded',
  },
};
const gemini = (message: string): unknown => [{ error: { code: 429, message, status: 'RESOURCE_EXHAUSTED' } }];
const geminiRate = gemini('You exceeded your current quota, please check your plan and billing details. Please retry in 0.002s.');
const geminiCredit = gemini('Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.');
const azureRate = 'Requests have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 0.006 seconds.';
const openAICredit = 'You exceeded your current quota, please check your plan and billing details.';

/** An answer of 65 MiB in some KiB. */
const bomb: Script = (_call, response) => {
  const text = Buffer.concat([Buffer.alloc(65 * 1024 * 1024, ' '), Buffer.from('{"choices": [{"message": {"content": "x"}}]}')]);
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(gzipSync(text, { level: 1 }));
};

type Row = readonly [what: string, script: Script, status: number, code: string, retryable: boolean, asked: number, words: RegExp];
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
  [
    '429 of a limit that others use',
    api(429, 'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29937, Requested 385.'),
    429,
    'RateLimited',
    true,
    4,
    /fewer requests/,
  ],
  ['429 of Bedrock', api(429, 'Too many tokens, please wait before trying again.'), 429, 'RateLimited', true, 4, /fewer requests/],
  ['429 of Groq, which links to its billing', refuse(429, groqRate), 429, 'RateLimited', true, 4, /fewer requests/],
  [
    '429 that links to a billing, without a code',
    api(429, 'Slow down. You can add a payment method at https://platform.openai.com/account/billing.'),
    429,
    'RateLimited',
    true,
    4,
    /fewer requests/,
  ],
  ['429 of Gemini for a minute', refuse(429, geminiRate), 429, 'RateLimited', true, 4, /fewer requests/],
  ['429 of Gemini without credit', refuse(429, geminiCredit), 400, 'ProviderRefused', false, 1, /no credit left/],
  ['429 of Azure', refuse(429, { error: { code: '429', message: azureRate } }), 429, 'RateLimited', true, 4, /fewer requests/],
  [
    '429 of Anthropic',
    refuse(429, { type: 'error', error: { type: 'rate_limit_error', message: 'see your plan and billing' } }),
    429,
    'RateLimited',
    true,
    4,
    /fewer requests/,
  ],
  ['429 of OpenAI without credit', api(429, openAICredit), 400, 'ProviderRefused', false, 1, /no credit left/],
  ['429 for an hour', refuse(429, {}, { 'retry-after': '3600' }), 429, 'RateLimited', true, 1, /requestsPerMinute/],
  ['429 for minutes, in words', api(429, 'Rate limit reached. Please try again in 7m12.5s.'), 429, 'RateLimited', true, 1, /7m12/],
  ['424 of TGI', refuse(424, { error: 'Request failed during generation' }), 502, 'ProviderUnreachable', true, 4, /424/],
  ['498 of Groq', api(498, 'Flex tier capacity exceeded'), 502, 'ProviderUnreachable', true, 4, /498/],
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
  ['a refused member', api(422, 'tools: not supported'), 400, 'InvalidRequest', false, 1, /422: tools: not supported/],
  ['broken JSON', raw('{"choices": [{'), 502, 'ProviderMalformed', false, 2, /not JSON/],
  [
    'an error in a form of MiniMax',
    refuse(200, { choices: null, base_resp: { status_code: 1004, status_msg: 'no login by sk-first-key' } }),
    502,
    'ProviderMalformed',
    false,
    2,
    /no login by \[key\]/,
  ],
  ['no choices', raw('{"choices": []}'), 502, 'ProviderMalformed', false, 2, /choices must NOT have fewer than 1/],
  ['an error with status 200', api(200, 'upstream is down'), 502, 'ProviderUnreachable', true, 4, /fails \(upstream is down\)/],
  [
    'a choice that failed',
    refuse(200, { choices: [{ index: 0, finish_reason: 'error', error: { code: 429, message: 'slow' }, message: { content: '' } }] }),
    429,
    'RateLimited',
    true,
    4,
    /429: slow/,
  ],
  [
    'an answer that DeepSeek gave up',
    refuse(200, { choices: [{ index: 0, finish_reason: 'insufficient_system_resource', message: { content: 'I lo' } }] }),
    502,
    'ProviderUnreachable',
    true,
    4,
    /insufficient_system_resource/,
  ],
  [
    'a choice that failed without words',
    refuse(200, { choices: [{ index: 0, finish_reason: 'error', message: { role: 'assistant', content: '' } }] }),
    502,
    'ProviderUnreachable',
    true,
    4,
    /finish_reason error/,
  ],
  ['half an answer', breakOff('{"choices": [{'), 502, 'ProviderUnreachable', true, 4, /does not answer/],
  ['an answer without an end', flood, 502, 'ProviderMalformed', false, 1, /without an end/],
  ['an answer that is compressed very much', bomb, 502, 'ProviderMalformed', false, 1, /without an end/],
  [
    'a redirect to another place of the host',
    refuse(308, {}, { location: '/other?key=x' }),
    400,
    'ProviderRefused',
    false,
    1,
    /redirects to http:\/\/127\.0\.0\.1:\d+\/other,/,
  ],
  [
    'a redirect',
    refuse(307, {}, { location: 'http://evil.test/v1' }),
    400,
    'ProviderRefused',
    false,
    1,
    /redirects to http:\/\/evil\.test\/v1,/,
  ],
];

const window = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).';
const tooLong = 'ContextExceeded';
const openRouter = { code: 400, message: 'Provider returned error', metadata: { raw: '{"error":{"message":"prompt is too long"}}' } };
const tpm =
  'Request too large for gpt-4.1-mini (for limit gpt-4.1) in organization org-x on tokens per min (TPM): Limit 30000, Requested 37313.';
const groqTpm =
  'Request too large for model `llama` in organization `o` on tokens per minute (TPM): Limit 6000, Requested 7543, please reduce your message size. Need more tokens? See https://console.groq.com/settings/billing';
const bytes = { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } };
/** Refusals in the words of vendors: status, body, code. */
const vendors: readonly (readonly [vendor: string, status: number, body: unknown, code: string])[] = [
  ['OpenAI', 400, { error: { message: 'Your input exceeds the context window of this model.' } }, tooLong],
  ['Azure', 400, { error: { message: 'x', code: 'context_length_exceeded' } }, tooLong],
  ['Gemini', 400, { error: { code: 400, message: window, status: 'INVALID_ARGUMENT' } }, tooLong],
  ['Gemini, a list', 400, [{ error: { code: 400, message: window, status: 'INVALID_ARGUMENT' } }], tooLong],
  ['xAI', 400, { code: 'x', error: "This model's maximum prompt length is 131072 but the request contains 140000 tokens." }, tooLong],
  ['Mistral', 400, { message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length' }, tooLong],
  ['Bedrock', 400, { message: 'Input is too long for requested model.' }, tooLong],
  ['Cohere', 400, { message: 'too many tokens: total number of tokens in the prompt cannot exceed 4081' }, tooLong],
  ['Moonshot', 400, { error: { message: 'Invalid request: Your request exceeded model token limit: 8192' } }, tooLong],
  ['Qwen', 400, { error: { message: '<400> InternalError.Algo: Range of input length should be [1, 129024]' } }, tooLong],
  ['Zhipu', 400, { error: { code: '1261', message: 'Prompt exceeds max length' } }, tooLong],
  ['TGI', 422, { error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096' }, tooLong],
  ['llama.cpp', 400, { error: { message: 'the request exceeds the available context size' } }, tooLong],
  ['OpenRouter, status 200', 200, { error: { code: 400, message: "This endpoint's maximum context length is 8192" } }, tooLong],
  ['OpenRouter, what its provider said', 400, { error: openRouter }, tooLong],
  ['a broker without a status', 200, { error: { message: 'the prompt is too long', type: 'x' } }, tooLong],
  ['OpenAI, a request above the limit of a minute', 429, { error: { message: tpm, type: 'tokens', code: 'rate_limit_exceeded' } }, tooLong],
  ['OpenAI, the same in an answer', 200, { error: { message: tpm, type: 'tokens', code: 'rate_limit_exceeded' } }, tooLong],
  ['Groq, the same', 413, { error: { message: groqTpm, type: 'tokens', code: 'rate_limit_exceeded' } }, tooLong],
  ['Groq, the same', 429, { error: { message: groqTpm, type: 'tokens', code: 'rate_limit_exceeded' } }, tooLong],
  ['Anthropic', 413, bytes, tooLong],
  ['a broker of Anthropic', 200, bytes, tooLong],
  ['nginx', 413, '<html><head><title>413 Request Entity Too Large</title></head></html>', tooLong],
  ['Gemini', 400, [{ error: { code: 400, message: 'API key not valid. Please pass a valid API key.' } }], 'CredentialRefused'],
  ['Gemini', 400, { error: { code: 400, message: 'API key expired. Please renew the API key.' } }, 'CredentialRefused'],
  ['xAI', 400, { code: 'x', error: 'Incorrect API key provided: sk***. You can obtain one at console.x.ai.' }, 'CredentialRefused'],
  ['a broker', 200, { error: { code: 401, message: 'User not found.' } }, 'CredentialRefused'],
  ['OpenAI', 403, { error: { message: 'You do not have access to the model gpt-x' } }, 'CredentialRefused'],
  ['OpenAI', 403, { error: { message: 'You cannot request logprobs from this model' } }, 'InvalidRequest'],
  ['Azure', 400, { error: { message: "This model fails with 'top_logprobs'." } }, 'InvalidRequest'],
  ['Ollama', 404, { error: { message: 'model "llama3.2:1b" not found, try pulling it first' } }, 'ModelNotAtProvider'],
  ['vLLM', 404, { error: { message: 'The model `Qwen/Qwen2.5-7B` does not exist.', code: 404 } }, 'ModelNotAtProvider'],
  ['Gemini', 404, [{ error: { code: 404, message: 'models/gemini-1.5-x is not found for API version v1main' } }], 'ModelNotAtProvider'],
  ['Azure', 404, { error: { message: 'The API deployment for this resource does not exist.' } }, 'ModelNotAtProvider'],
  ['Bedrock', 400, { message: 'The provided model identifier is invalid.' }, 'ModelNotAtProvider'],
  ['OpenRouter', 400, { error: { message: 'a/b-2.5 is not a valid model ID', code: 400 } }, 'ModelNotAtProvider'],
  ['OpenRouter', 404, { error: { message: 'No endpoints found for a/b-2.5:free.', code: 404 } }, 'ModelNotAtProvider'],
  ['a broker', 200, { error: { message: 'logprobs: no', type: 'invalid_request_error' } }, 'InvalidRequest'],
];

describe('a refusal in the words of', () => {
  it.each(vendors)('%s, %s, %j is %s', async (_vendor, status, body, code) => {
    provider.play(refuse(status, body));
    const { error } = (await stage.ask({ logprobs: true })).body;
    expect(error.code).toBe(code);
    expect(error.message).not.toContain('[{');
    expect(provider.calls).toHaveLength(1);
  });

  it('a list shows the words alone', async () => {
    provider.play(refuse(400, [{ error: { code: 400, message: window } }]));
    expect((await stage.ask()).body.error.message).toContain(`(400: ${window})`);
  });
});

describe('a fault', () => {
  it.each(faults)('is answered with code and cure: %s', async (_what, script, status, code, retryable, asked, words) => {
    provider.play(script);
    const answer = await stage.ask();
    expect({ ...answer.body.error, status: answer.status }).toMatchObject({ status, code, retryable });
    expect(answer.body.error.message).toMatch(words);
    expect(provider.calls).toHaveLength(asked);
    expect(answer.text + stage.log.join('') + (await stage.metrics())).not.toContain('sk-first-key');
    expect(await stage.metrics()).toContain(`agentfleet_gateway_requests_total{model="expert",result="${code}"} 1`);
    expect(await stage.metrics()).toContain(`agentfleet_gateway_last_answer_timestamp_seconds{model="expert",result="${code}"} `);
  });

  it('that passes reaches no caller', async () => {
    provider.play(api(500, 'oops'), refuse(429, {}, { 'retry-after-ms': '1' }), breakOff('{'), hello);
    expect((await stage.ask()).status).toBe(200);
    const metrics = await stage.metrics();
    expect(metrics).toContain('agentfleet_gateway_retries_total{model="expert",code="RateLimited"} 1');
    expect(metrics).toContain('agentfleet_gateway_retries_total{model="expert",code="ProviderUnreachable"} 2');
  });

  it('is an answer without a choice: what it used is charged with the next one, or alone', async () => {
    const none = refuse(200, { choices: [], usage: { prompt_tokens: 50, completion_tokens: 0 } });
    provider.play(none, hello);
    expect((await stage.ask()).body.usage).toMatchObject({ prompt_tokens: 150, completion_tokens: 20 });
    provider.play(none);
    const both = { prompt_tokens: 100, completion_tokens: 0 };
    expect((await stage.ask()).body.error).toMatchObject({ code: 'ProviderMalformed', retryable: false, usage: both });
    expect(await stage.metrics()).toContain('agentfleet_gateway_tokens_total{model="expert",kind="input",task_namespace="none"} 250');
    provider.play((call, response) => ('logprobs' in call.body ? none : refuse(400, {}))(call, response));
    expect((await stage.ask()).body.error.usage).toBeUndefined();
  });

  it('is an answer without a choice: what all models used is charged with the answer of the fallback, or of other choices', async () => {
    const none = refuse(200, { choices: [], usage: { prompt_tokens: 50, completion_tokens: 0 } });
    const other = new FakeProvider();
    await stage.models(
      { baseURLs: [provider.url], fallback: 'second' },
      { name: 'second', baseURLs: [await other.start()], model: 'other' },
    );
    provider.play(none);
    other.play(hello);
    expect((await stage.ask()).body).toMatchObject({
      model: 'second',
      usage: { prompt_tokens: 200, completion_tokens: 20, estimated: true },
    });
    other.play(none);
    expect((await stage.ask()).body.error.usage).toMatchObject({ prompt_tokens: 200 });
    provider.play(hello, none, none);
    expect((await stage.ask({ n: 2 })).body).toMatchObject({ choices: [{}], usage: { prompt_tokens: 200, completion_tokens: 20 } });
    const metrics = await stage.metrics();
    expect(metrics).toContain('agentfleet_gateway_tokens_total{model="expert",kind="input",task_namespace="none"} 400');
    expect(metrics).toContain('agentfleet_gateway_tokens_total{model="second",kind="input",task_namespace="none"} 200');
    await other.stop();
  });

  it.each([
    ['a header', refuse(429, {}, { 'retry-after': '3600' }), '3600'],
    ['a date that has passed', refuse(503, {}, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }), '0'],
    ['a header without an end', refuse(429, {}, { 'retry-after-ms': '1e999' }), '86400'],
    ['words without an end', api(429, `Please try again in ${'9'.repeat(400)}s.`), '86400'],
    ['words of OpenAI', api(429, 'Please try again in 7m12.5s.'), '433'],
    ['words of Azure', api(429, 'Please retry after 45 seconds.'), '45'],
    ['words of Gemini', refuse(429, gemini('Please retry in 31.2s.')), '32'],
  ])('has the time of a retry, from %s', async (_what, script, seconds) => {
    provider.play(script);
    expect((await stage.ask()).headers.get('retry-after')).toBe(seconds);
  });

  it('is silence: it ends when the patience of the model does', async () => {
    await stage.models({ baseURLs: [provider.url], timeoutSeconds: 1 });
    provider.play(silence);
    const { status, body } = await stage.ask();
    expect([status, body.error.code]).toEqual([504, 'ProviderTimeout']);
    expect(body.error.message).toContain('no answer within 1 s; raise timeoutSeconds');
    expect(provider.calls).toHaveLength(2);
  });

  it('is a missing host, or one without a listener', async () => {
    await stage.models({ baseURLs: ['http://127.0.0.1:1/v1'] });
    const { error } = (await stage.ask()).body;
    expect(error).toMatchObject({ code: 'ProviderUnreachable', retryable: true });
    expect(error.message).toContain('does not answer (bad port)');
    await stage.models({ baseURLs: ['https://10.0.0.256/v1'] });
    const invalid = (await stage.ask()).body.error;
    expect(invalid).toMatchObject({ code: 'ProviderUnreachable', retryable: false });
    expect(invalid.message).toContain('baseURL is no address; write it like');
    await stage.models({ baseURLs: ['http://nobody.invalid/v1'] });
    expect((await stage.ask()).body.error.message).toMatch(/nobody\.invalid\/v1.*(no DNS server knows|does not answer)/);
  });

  it('of one model is the work of its fallback', async () => {
    const other = new FakeProvider();
    const fallback = { name: 'second', baseURLs: [await other.start()], model: 'other' };
    await stage.models({ baseURLs: [provider.url], fallback: 'second' }, fallback);
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

  it.each<readonly [what: string, first: Script, second: Script]>([
    ['model, and the silence of its fallback', raw('{"choices": []}'), breakOff('{')],
    ['fallback of a silent model', breakOff('{'), raw('{"choices": []}')],
  ])('is answers of no use of a %s: these cost, and nobody asks again', async (_what, first, second) => {
    const other = new FakeProvider();
    await stage.models({ baseURLs: [provider.url], fallback: 'second' }, { name: 'second', baseURLs: [await other.start()] });
    provider.play(first);
    other.play(second);
    const { status, body } = await stage.ask();
    expect({ ...body.error, status }).toMatchObject({ status: 502, code: 'ProviderMalformed', retryable: false });
    expect(body.error.message).toMatch(/expert: .*; then second: /);
    await other.stop();
  });

  it('of the conversation is no work for the fallback', async () => {
    await stage.models({ baseURLs: [provider.url], fallback: 'second' }, { name: 'second', baseURLs: [provider.url] });
    provider.play(api(400, 'prompt is too long'));
    expect((await stage.ask()).body.error.code).toBe('ContextExceeded');
    expect(provider.calls).toHaveLength(1);
  });
});
