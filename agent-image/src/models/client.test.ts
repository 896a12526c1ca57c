import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { silentLog } from '@agentfleet/kube';
import type { ChatRequest, GatewayErrorCode, TokenUsage, ToolDefinition } from '@agentfleet/protocol/chat';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../base/failure.ts';
import { hastyClock, serveHttp } from '../testing/localHttp.ts';
import { ChatModelsClient, tryMs } from './client.ts';
import { UselessAnswer, type ModelReply, type ModelRequest } from './models.ts';

const tool: ToolDefinition = { name: 'bash', description: 'Runs.', parameters: { type: 'object', properties: {} }, risk: 'Execute' };
const request: ModelRequest = {
  messages: [
    { role: 'System', text: 's' },
    { role: 'User', origin: 'Goal', text: 'g' },
  ],
  tools: [tool],
  n: 1,
  maxOutputTokens: 100,
  requestId: 'r1',
  task: 'ns/task',
  conversation: 'c1',
};
const completion = {
  id: 'x',
  object: 'chat.completion',
  model: 'gen',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 1 },
};

interface Seen {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: ChatRequest;
}
type Handler = (response: ServerResponse, seen: Seen, calls: number) => void;

async function gateway(handler: Handler) {
  const seen: Seen[] = [];
  const server = await serveHttp((incoming, response) => {
    void json(incoming).then((body) => {
      const one = { path: incoming.url ?? '', headers: incoming.headers, body: body as ChatRequest };
      seen.push(one);
      handler(response, one, seen.length);
    });
  });
  const { url } = server;
  const chat = { contextTokens: 10_000, maxOutputTokens: 1000, toolCalls: 'Native' as const };
  const expert: ExpertEndpoint = { name: 'gen', role: 'Generalist', engine: 'OpenAI', domains: ['*'], url, chat };
  const forgotten: string[] = [];
  const client = new ChatModelsClient({
    tokens: {
      token: (audience) => Promise.resolve(`token-${audience}-${forgotten.length}`),
      forget: (audience) => void forgotten.push(audience),
    },
    audience: 'agentfleet-gateway:ns/pool',
    clock: hastyClock(60_000),
    random: () => 0,
    log: silentLog,
  });
  const ask = (
    change: Partial<ModelRequest> = {},
    of: Partial<ExpertEndpoint> = {},
    signal = new AbortController().signal,
  ): Promise<ModelReply> => client.complete({ ...expert, ...of }, { ...request, ...change }, signal);
  const close = async (): Promise<void> => {
    await client.close();
    await server[Symbol.asyncDispose]();
  };
  return { url, seen, forgotten, ask, json: { chat: { ...chat, toolCalls: 'Json' as const } }, [Symbol.asyncDispose]: close };
}

const send = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(typeof body === 'string' ? body : JSON.stringify(body));
};
const refusal = (code: GatewayErrorCode, retryable: boolean, message = `cure of ${code}`) => ({
  error: { code, message, type: 't', retryable },
});

const failureOf = async (asked: Promise<unknown>): Promise<AttemptFailure> => {
  const error: unknown = await asked.then(
    () => new Error('it was answered'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AttemptFailure);
  return error as AttemptFailure;
};

it('waits as long as the gateway may wait for the model and its fallback', () => {
  const chat = { contextTokens: 10_000, maxOutputTokens: 1000, toolCalls: 'Native' as const };
  const seconds = [undefined, 300, 3600].map(
    (timeoutSeconds) => tryMs({ chat: { ...chat, ...(timeoutSeconds && { timeoutSeconds }) } }) / 1000,
  );
  expect(seconds).toEqual([900, 900, 7260]);
});

describe('asking a chat model', () => {
  it('sends a valid request for the gateway, with a token for it, and reads the answer', async () => {
    await using stage = await gateway((response) => send(response, 200, completion));
    expect(await stage.ask({ n: 3 })).toEqual({
      proposals: [{ text: 'hello', calls: [], finish: 'Stop', entropyNats: null }],
      usage: { input: 5, cachedInput: 0, output: 1, estimated: false },
    });
    const [{ path, headers, body } = { path: '', headers: {}, body: null }] = stage.seen;
    expect(path).toBe('/v1/chat/completions');
    expect(headers).toMatchObject({
      authorization: 'Bearer token-agentfleet-gateway:ns/pool-0',
      'agentfleet-request': 'r1',
      'agentfleet-task': 'ns/task',
      'agentfleet-conversation': 'c1',
    });
    expect(body).toEqual({
      model: 'gen',
      n: 3,
      max_completion_tokens: 100,
      logprobs: true,
      messages: [
        { role: 'system', content: 's' },
        { role: 'user', content: 'g' },
      ],
      tools: [{ type: 'function', function: { name: 'bash', description: 'Runs.', parameters: { type: 'object', properties: {} } } }],
    });
  });

  it('names the fallback that answered', async () => {
    await using stage = await gateway((response) => send(response, 200, { ...completion, model: 'spare' }));
    expect(await stage.ask()).toMatchObject({ answeredBy: 'spare' });
  });

  it('holds a model that has no tool calls to no schema where words are wanted, and takes no object in them for a call', async () => {
    const content = 'Facts: it said {"tool":"bash","arguments":{"command":"ls"}}, and that failed.';
    const answer = { ...completion, choices: [{ ...completion.choices[0], message: { role: 'assistant', content } }] };
    await using stage = await gateway((response) => send(response, 200, answer));
    const { proposals } = await stage.ask({ inWords: true }, stage.json);
    expect(proposals).toMatchObject([{ text: content, calls: [], finish: 'Stop' }]);
    expect(stage.seen.map(({ body }) => Object.keys(body as object).includes('response_format'))).toEqual([false]);
    for (let n = 0; n < 3; n += 1) await stage.ask({ inWords: true });
    expect(stage.seen).toHaveLength(4);
  });

  it('speaks the JSON protocol with a model that has no tool calls', async () => {
    const content = '{"thought":"look","tool":"bash","arguments":{}}';
    await using stage = await gateway((response) =>
      send(response, 200, { ...completion, choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] }),
    );
    const { proposals } = await stage.ask({}, stage.json);
    expect(proposals).toEqual([
      { text: 'look', calls: [{ id: expect.any(String) as string, name: 'bash', arguments: '{}' }], finish: 'Calls', entropyNats: null },
    ]);
    const body = stage.seen[0]?.body;
    expect(body?.tools).toBeUndefined();
    expect(body?.response_format).toMatchObject({ type: 'json_schema' });
    expect(body?.messages[0]?.content).toContain('exactly one JSON object');
  });

  it.for<[string, GatewayErrorCode, string]>([
    ['Ollama', 'InvalidRequest', 'registry.ollama.ai/library/gemma:2b does not support tools'],
    ['vLLM', 'InvalidRequest', '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
    ['OpenRouter', 'ProviderRefused', 'No endpoints found that support tool use.'],
    ['llama.cpp', 'InvalidRequest', 'tools param requires --jinja flag'],
    ['llama.cpp, of a schema', 'InvalidRequest', 'Failed to initialize samplers: failed to parse grammar'],
    ['a template without results of tools', 'InvalidRequest', 'Conversation roles must alternate user/assistant/user/assistant/...'],
  ])('speaks the JSON protocol with a model whose server refuses tools: %s', async ([, code, words]) => {
    const answer = (content: string): object => ({
      ...completion,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    });
    await using stage = await gateway((response, { body }) =>
      body.tools === undefined
        ? send(response, 200, answer('{"tool":"bash","arguments":{}} now'))
        : send(response, 400, refusal(code, false, words)),
    );
    for (const asked of [2, 3]) {
      expect((await stage.ask()).proposals[0]?.calls).toMatchObject([{ name: 'bash' }]);
      expect(stage.seen).toHaveLength(asked);
    }
  });

  it.for<[string, number, number]>([
    ['speaks the JSON protocol where the prompt is as long without tools, from the second reply without a call on', 5, 4],
    ['goes on where tools are in the prompt', 4, 4],
  ])('%s', async ([, without, requests]) => {
    const billed: TokenUsage[] = [];
    const onBilled = (usage: TokenUsage): void => void billed.push(usage);
    await using stage = await gateway((response, { body }) => {
      const asked = body.tools === undefined ? without : 5;
      const content = body.response_format === undefined ? 'I look.' : '{"tool":"bash","arguments":{}}';
      const message = { role: 'assistant', content };
      send(response, 200, { ...completion, usage: { prompt_tokens: asked, completion_tokens: 1 }, choices: [{ index: 0, message }] });
    });
    expect((await stage.ask({ onBilled })).proposals[0]?.calls).toEqual([]);
    expect(stage.seen).toHaveLength(1);
    const json = without === 5;
    expect((await stage.ask({ onBilled })).proposals[0]?.calls).toHaveLength(json ? 1 : 0);
    expect(billed.map(({ input }) => input)).toEqual(json ? [5, 5] : [4]);
    if (!json) await stage.ask();
    expect(stage.seen).toHaveLength(requests);
  });

  it.each(['reasoning', 'reasoning_content'])('reads a call that a server left at the end of %s', async (member) => {
    const message = { role: 'assistant', content: null, [member]: 'I look.\n<tool_call>{"name": "bash", "arguments": {}}</tool_call>' };
    await using stage = await gateway((response) =>
      send(response, 200, { ...completion, choices: [{ index: 0, message, finish_reason: 'stop' }] }),
    );
    expect((await stage.ask()).proposals[0]?.calls).toMatchObject([{ name: 'bash' }]);
  });

  it('reads a call that a server with tools left in the text', async () => {
    const content = '<tool_call>{"name": "Bash", "arguments": {}}</tool_call>';
    await using stage = await gateway((response) =>
      send(response, 200, { ...completion, choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] }),
    );
    expect((await stage.ask()).proposals).toMatchObject([{ text: '', calls: [{ name: 'bash', arguments: '{}' }], finish: 'Calls' }]);
    expect((await stage.ask({ tools: [] })).proposals).toMatchObject([{ text: content, calls: [] }]);
  });

  it.for<[string, number, unknown]>([
    ['its provider is away', 502, refusal('ProviderUnreachable', true)],
    ['it is asked too often', 429, refusal('RateLimited', true)],
    ['it is stopping', 503, refusal('Stopping', true)],
    ['it does not know the token yet', 401, refusal('Unauthenticated', false)],
    ['nobody is behind the Service', 503, 'no healthy upstream'],
    ['its answer is cut', 200, '{"choices": ['],
  ])('asks again when %s', async ([, status, body]) => {
    await using stage = await gateway((response, _, calls) =>
      send(response, calls < 3 ? status : 200, calls < 3 ? body : completion, { 'retry-after': '1' }),
    );
    expect((await stage.ask()).proposals).toHaveLength(1);
    expect(stage.seen).toHaveLength(3);
    expect(new Set(stage.seen.map(({ headers }) => headers['agentfleet-request']))).toEqual(new Set(['r1']));
    const renewed = stage.seen[2]?.headers.authorization?.endsWith('-2') === true;
    expect(renewed).toBe(status === 401);
  });

  it.for<[string, number, unknown, object]>([
    [
      'reports what it used',
      502,
      { error: { ...refusal('ProviderUnreachable', true).error, usage: completion.usage } },
      { input: 5, output: 1 },
    ],
    ['is cut', 200, '{"choices": [', { output: 100, estimated: true }],
  ])('reports what each answer of no use cost that comes before a good one, and %s', async ([, status, body, cost]) => {
    await using stage = await gateway((response, _, calls) => send(response, calls < 3 ? status : 200, calls < 3 ? body : completion));
    const billed: TokenUsage[] = [];
    expect((await stage.ask({ onBilled: (usage) => void billed.push(usage) })).usage).toMatchObject({ input: 5, output: 1 });
    expect(billed).toMatchObject([cost, cost]);
  });

  it('gives up after 30 s without an endpoint, so that the task waits', async () => {
    await using stage = await gateway((response) => void response.destroy());
    const failure = await failureOf(stage.ask());
    expect([failure.failureClass, failure.reason]).toEqual(['Infrastructure', 'ModelUnreachable']);
    expect(failure.message).toContain('look at the pods of the pool');
    expect(stage.seen.length).toBeGreaterThan(5);
    const gone = await gateway(() => undefined);
    await gone[Symbol.asyncDispose]();
    const nobody = await failureOf(stage.ask({}, { url: gone.url }));
    expect(nobody.message).toContain('ECONNREFUSED');
  });

  it.for<[GatewayErrorCode, boolean, string, string]>([
    ['ContextExceeded', false, 'AgentError', 'ContextExceeded'],
    ['RecordEnded', false, 'AgentError', 'RecordEnded'],
    ['InvalidRequest', false, 'AgentError', 'InvalidRequest'],
    ['CredentialMissing', false, 'Infrastructure', 'CredentialMissing'],
    ['CredentialRefused', false, 'Infrastructure', 'CredentialRefused'],
    ['ModelUnknown', false, 'Infrastructure', 'ModelUnknown'],
    ['ModelNotAtProvider', false, 'Infrastructure', 'ModelNotAtProvider'],
    ['ProviderRefused', false, 'Infrastructure', 'ProviderRefused'],
    ['ProviderUnreachable', false, 'Infrastructure', 'ModelUnreachable'],
    ['ProviderTimeout', true, 'Infrastructure', 'ModelUnreachable'],
    ['RateLimited', true, 'Infrastructure', 'RateLimited'],
    ['Internal', false, 'Infrastructure', 'ModelFailed'],
  ])('takes %s for an answer', async ([code, retryable, failureClass, reason]) => {
    await using stage = await gateway((response) => send(response, 400, refusal(code, retryable)));
    const failure = await failureOf(stage.ask());
    expect([failure.failureClass, failure.reason]).toEqual([failureClass, reason]);
    expect(failure.message).toContain(`cure of ${code}`);
    expect(stage.seen.length > 1).toBe(retryable);
  });

  it.for<[string, number, unknown, boolean, object[]]>([
    ['the gateway fails on it', 500, refusal('Internal', false), true, []],
    [
      'it is no chat completion',
      502,
      { error: { ...refusal('ProviderMalformed', false).error, usage: completion.usage } },
      true,
      [{ input: 5, output: 1, estimated: false }],
    ],
    [
      'the provider reports nothing',
      502,
      { error: { ...refusal('ProviderMalformed', false).error, usage: { prompt_tokens: 'x' } } },
      true,
      [],
    ],
    ['the gateway sends another form', 200, { choices: [], usage: completion.usage }, true, [{ input: 5, output: 1 }]],
    ['the gateway reports nothing', 200, { choices: [] }, true, [{ output: 100, estimated: true }]],
    ['it is too large', 200, { ...completion, more: 'm'.repeat(16 * 1024 * 1024) }, true, [{ output: 100, estimated: true }]],
    ['it is of a proxy', 404, '<html>not here</html>', false, []],
    ['it is of a key that is refused', 400, refusal('CredentialRefused', false), false, []],
  ])('knows an answer that is of no use, and what it cost: %s', async ([, status, body, useless, cost]) => {
    await using stage = await gateway((response) => send(response, status, body));
    const billed: TokenUsage[] = [];
    expect((await failureOf(stage.ask({ onBilled: (usage) => void billed.push(usage) }))) instanceof UselessAnswer).toBe(useless);
    expect(billed).toMatchObject(cost);
  });

  it.for<[string, number, unknown, string]>([
    ['no choices', 200, { choices: [] }, 'ModelMalformed'],
    ['another form', 200, { choices: [{ index: 0, message: { role: 'assistant', content: 7 } }] }, 'ModelMalformed'],
    ['more than 16 MiB', 200, { ...completion, more: 'm'.repeat(16 * 1024 * 1024) }, 'ModelMalformed'],
    ['a page of a proxy', 404, '<html>not here</html>', 'ModelFailed'],
    ['a redirect', 302, '', 'ModelFailed'],
  ])('refuses an answer that has %s', async ([, status, body, reason]) => {
    await using stage = await gateway((response) =>
      send(response, status, body, status === 302 ? { location: 'http://127.0.0.1:1/' } : {}),
    );
    const failure = await failureOf(stage.ask());
    expect([failure.failureClass, failure.reason]).toEqual(['Infrastructure', reason]);
    expect(stage.seen).toHaveLength(1);
  });

  it.each(['response_format is not supported', 'Failed to initialize samplers: failed to parse grammar'])(
    'omits parameters that a server refuses, and remembers it: %s',
    async (words) => {
      await using stage = await gateway((response, { body }) => {
        if (body.logprobs === true) send(response, 400, refusal('InvalidRequest', false, "unknown field 'logprobs'"));
        else if (body.response_format !== undefined) send(response, 400, refusal('ProviderRefused', false, words));
        else send(response, 200, completion);
      });
      await stage.ask({}, stage.json);
      expect(stage.seen).toHaveLength(3);
      await stage.ask({}, stage.json);
      expect(stage.seen).toHaveLength(4);
    },
  );

  it('ends with the reason of the signal', async () => {
    await using stage = await gateway((response) => void response.writeHead(200).write(' '));
    const abort = new AbortController();
    const asked = stage.ask({}, {}, abort.signal);
    setTimeout(() => abort.abort(new Error('the lease is lost')), 50);
    await expect(asked).rejects.toThrow('the lease is lost');
  });

  it.for([
    [undefined, 'GatewayMissing', 'names no gateway'],
    ['audience', 'ModelUnreachable', 'no token for it was given: forbidden'],
  ] as const)('needs the audience %s and a token', async ([audience, reason, words]) => {
    const tokens = { token: () => Promise.reject(new Error('forbidden')), forget: () => undefined };
    const client = new ChatModelsClient({ tokens, audience, clock: hastyClock(60_000), random: () => 0, log: silentLog });
    const expert: ExpertEndpoint = { name: 'gen', role: 'Generalist', engine: 'OpenAI', domains: ['*'], url: 'http://127.0.0.1:1' };
    const failure = await failureOf(client.complete(expert, request, new AbortController().signal));
    expect([failure.failureClass, failure.reason]).toEqual(['Infrastructure', reason]);
    expect(failure.message).toContain(words);
    await client.close();
  });
});
