// The worker's client through the real gateway to a provider by script: what a server refuses of a request, and how often it is asked.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { TokenUsage } from '@agentfleet/protocol/chat';
import { AttemptFailure } from '../agent-image/src/base/failure.ts';
import { ChatModelsClient } from '../agent-image/src/models/index.ts';
import type { ModelReply } from '../agent-image/src/models/models.ts';
import { Stage } from '../inference-image/src/gateway/testing/harness.ts';
import { FakeProvider, refuse, tell, usage } from '../inference-image/src/gateway/testing/provider.ts';

const provider = new FakeProvider();
let stage: Stage;
let client: ChatModelsClient;
let billed: TokenUsage[];
const onBilled = (used: TokenUsage): void => void billed.push(used);

beforeEach(async () => {
  billed = [];
  const url = await provider.start();
  stage = await Stage.open();
  await stage.models({ baseURLs: [url] });
  await stage.start();
  const tokens = { token: () => Promise.resolve('worker-token'), forget: () => undefined };
  client = new ChatModelsClient({ tokens, audience: 'gateway', clock: systemClock, random: () => 0, log: silentLog });
});

afterEach(async () => {
  await client.close();
  await stage.close();
  await provider.stop();
});

function ask(toolCalls: 'Native' | 'Json' = 'Native'): Promise<ModelReply> {
  const chat = { contextTokens: 32_768, maxOutputTokens: 1000, toolCalls };
  const messages = [
    { role: 'System', text: 's' },
    { role: 'User', origin: 'Goal', text: 'g' },
  ] as const;
  const tools = [{ name: 'bash', description: 'Runs.', parameters: { type: 'object', properties: {} }, risk: 'Execute' }] as const;
  return client.complete(
    { name: 'expert', role: 'Generalist', engine: 'OpenAI', domains: ['*'], url: stage.origin, chat },
    { messages, tools, n: 1, maxOutputTokens: 100, requestId: 'r1', task: 'ns/task', conversation: 'c1', onBilled },
    new AbortController().signal,
  );
}

const failureOf = (): Promise<unknown> =>
  ask().then(
    () => 'an answer',
    (error: unknown) => error,
  );

describe('a server that refuses a parameter', () => {
  it.each<readonly [words: string, refused: string, status: number, body: unknown]>([
    ['Groq', 'logprobs', 400, { error: { message: '`logprobs` is not supported with this model', type: 'invalid_request_error' } }],
    ['OpenAI', 'logprobs', 403, { error: { message: 'You are not allowed to request logprobs from this model', param: null } }],
    ['OpenAI, by param', 'logprobs', 400, { error: { message: 'Unsupported parameter', param: 'logprobs' } }],
    [
      'FastAPI',
      'logprobs',
      422,
      { detail: [{ type: 'extra_forbidden', loc: ['body', 'logprobs'], msg: 'Extra inputs are not permitted' }] },
    ],
    ['a broker', 'logprobs', 200, { error: { code: 400, message: 'logprobs: unknown field' } }],
    ['DeepSeek', 'response_format', 400, { error: { message: 'This response_format type is unavailable now' } }],
  ])('in the words of %s is asked without %s, once and from then on', async (_words, refused, status, body) => {
    const answer = tell([{ content: '{"thought":"look","tool":"bash","arguments":{}}' }]);
    provider.play((call, response) => (refused in call.body ? refuse(status, body) : answer)(call, response));
    expect((await ask('Json')).proposals).toMatchObject([{ calls: [{ name: 'bash' }] }]);
    await ask('Json');
    expect(provider.calls.map((call) => refused in call.body)).toEqual([true, false, false]);
  });

  it('that the request has not is not asked again', async () => {
    provider.play(refuse(400, { error: { message: 'seed is not supported' } }));
    expect(await failureOf()).toMatchObject({ failureClass: 'AgentError', reason: 'InvalidRequest' });
    expect(provider.calls).toHaveLength(1);
  });
});

describe('an answer of status 200', () => {
  it('that is an error about the context is a conversation that is too long', async () => {
    provider.play(refuse(200, { error: { code: 400, message: "This endpoint's maximum context length is 8192 tokens" }, user_id: 'u' }));
    const failure = await failureOf();
    expect(failure).toBeInstanceOf(AttemptFailure);
    expect(failure).toMatchObject({ failureClass: 'AgentError', reason: 'ContextExceeded' });
    expect(provider.calls).toHaveLength(1);
  });

  it('without a choice is asked for once more by gateway and worker together', async () => {
    const none = refuse(200, { choices: [], usage });
    provider.play(none);
    expect(await failureOf()).toMatchObject({ failureClass: 'Infrastructure', reason: 'ProviderMalformed' });
    expect(provider.calls).toHaveLength(2);
    expect(billed).toMatchObject([{ input: 200, output: 40 }]);
    provider.play(none, tell([{ content: 'Hello.' }]));
    expect((await ask()).usage).toMatchObject({ input: 200, output: 40 });
  });

  it('with a filtered choice and no message is a reply, which is charged', async () => {
    provider.play(refuse(200, { choices: [{ index: 0, finish_reason: 'content_filter' }], usage }));
    expect(await ask()).toMatchObject({ proposals: [{ text: '', finish: 'Filter' }], usage: { input: 100, output: 20 } });
    expect(provider.calls).toHaveLength(1);
  });
});

describe('a refusal that is about what the model was shown or wrote', () => {
  const azure = { message: "triggering Azure OpenAI's content management policy", type: null, param: 'prompt', code: 'content_filter' };
  const wrote = '<function=bash{"command": "ls"}</function>';
  const read = { text: '', calls: [{ name: 'bash', arguments: '{"command":"ls"}' }], finish: 'Calls' };
  const groq = { message: 'Failed to call a function.', type: 'invalid_request_error', code: 'tool_use_failed', failed_generation: wrote };

  it.each([
    ['a prompt that a filter holds back', azure, { text: '', calls: [], finish: 'Filter' }, 0],
    ['a call that the server cannot read, and the worker can', groq, read, Math.ceil(wrote.length / 3)],
    ['an object that is no JSON', { ...groq, code: 'json_validate_failed' }, read, 14],
  ])('is a reply, which is charged: %s', async (_what, error, proposal, output) => {
    provider.play(refuse(400, { error }));
    const { proposals, usage: used } = await ask();
    expect(proposals).toMatchObject([proposal]);
    expect(used).toMatchObject({ output, estimated: true });
    expect(used.input).toBeGreaterThan(0);
    expect(provider.calls).toHaveLength(1);
  });
});
