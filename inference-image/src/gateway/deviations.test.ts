// What servers of weak models send and refuse, in their own words.
import { describe, expect, it } from 'vitest';
import { chunk, refuse, stream, tell, type Script } from './testing/provider.ts';
import { staging } from './testing/staging.ts';
import { textOf } from './testing/harness.ts';
import { Streamed } from './providers/index.ts';

const { provider, stage } = staging((stage) => ({ credentialFile: stage.path('key') }));

const api = (status: number, message: string, type = 'api_error'): Script =>
  refuse(status, { error: { message, type, param: null, code: null } });
const asked = { name: 'bash', arguments: '{"command":"ls"}' };
const answered = (message: object, more: object = {}, usage?: object): Script =>
  refuse(200, {
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop', ...more }],
    usage,
  });
const usage = (written: number): object => ({ prompt_tokens: 100, completion_tokens: written });

const qwen = '<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>';
/** Calls that a server could not read, and answers with an error. */
const unread: readonly (readonly [what: string, message: string, text: string])[] = [
  ['Ollama', `error parsing tool call: raw='{"command":"it's', err=unexpected end of JSON input`, `{"command":"it's`],
  ['llama.cpp', `Failed to parse input at pos 1360: ${qwen}`, qwen],
];

describe('an answer of a weak model', () => {
  it.each(unread)('is its text where its server cannot read the call: %s', async (_, message, text) => {
    provider.play(api(500, message));
    const { status, body } = await stage.ask();
    expect([status, provider.calls.length]).toEqual([200, 1]);
    expect(body.choices).toMatchObject([{ message: { content: text }, finish_reason: 'stop' }]);
    provider.play(stream([chunk({ content: 'I look. ' }), { error: { message, code: 500 } }]));
    expect(textOf(await stage.stream())).toBe(`I look. ${text}`);
  });

  it.each<readonly [what: string, message: object]>([
    ['as the function of the older API', { function_call: asked }],
    ['without its function', { tool_calls: [{ id: 'a', ...asked }] }],
    ['with the function of the older API beside it', { tool_calls: [{ id: 'a', function: asked }], function_call: asked }],
    ['with an object and without type', { tool_calls: [{ function: { name: 'bash', arguments: { command: 'ls' } } }] }],
  ])('has its call: %s', async (_, message) => {
    provider.play(answered(message));
    expect((await stage.ask()).body.choices[0]?.message.tool_calls).toMatchObject([{ type: 'function', function: asked }]);
  });

  it('has ids that templates of Mistral take, where its server gave none', async () => {
    provider.play(answered({ tool_calls: [{ function: asked }, { id: '', function: asked }] }));
    const ids = (await stage.ask()).body.choices[0]?.message.tool_calls?.map(({ id }) => id) ?? [];
    expect(ids).toEqual([expect.stringMatching(/^[0-9a-z]{9}$/), expect.stringMatching(/^[0-9a-z]{9}$/)]);
    expect(new Set(ids).size).toBe(2);
  });

  it.each<readonly [what: string, finish: string, written: number, seen: string]>([
    ['vLLM, whose calls hide it', 'tool_calls', 50, 'length'],
    ['one that ended before', 'tool_calls', 49, 'tool_calls'],
    ['one that counts otherwise', 'stop', 51, 'stop'],
  ])('was cut off where it has as many tokens as it may: %s', async (_, finish, written, seen) => {
    provider.play(answered({ tool_calls: [{ id: 'a', function: asked }] }, { finish_reason: finish }, usage(written)));
    expect((await stage.ask({ max_completion_tokens: 50 })).body.choices[0]?.finish_reason).toBe(seen);
  });
});

it.each<readonly [what: string, pieces: readonly object[], calls: readonly (readonly [string, string])[]]>([
  ['no index and no id', [{ function: asked }], [['bash', asked.arguments]]],
  ['no index in what follows', [{ index: 0, id: 'a', function: { name: 'bash', arguments: '{"a"' } }, { function: { arguments: ':1}' } }], [['bash', '{"a":1}']]],
  ['the name in each piece', [{ index: 0, id: 'a', function: { name: 'bash', arguments: '{"a"' } }, { index: 0, id: 'a', function: { name: 'bash', arguments: ':1}' } }], [['bash', '{"a":1}']]],
  ['one index for two calls', [{ index: 0, id: 'a', function: asked }, { index: 0, id: 'b', function: { name: 'submit', arguments: '{}' } }], [['bash', asked.arguments], ['submit', '{}']]],
  ['one id for two calls', [{ index: 0, id: 'a', function: asked }, { index: 1, id: 'a', function: asked }], [['bash', asked.arguments], ['bash', asked.arguments]]],
  ['arguments as an object', [{ index: 0, id: 'a', function: { name: 'bash', arguments: { command: 'ls' } } }], [['bash', asked.arguments]]],
])('a stream has whole calls: %s', async (_, pieces, calls) => {
  provider.play(stream([...pieces.map((piece) => chunk({ tool_calls: [piece] })), chunk({}, 'tool_calls')]));
  const { chunks } = await stage.stream();
  const joined = new Streamed();
  for (const one of chunks) joined.add(one);
  const [choice] = joined.choices('m');
  expect(choice?.message.tool_calls?.map(({ function: { name, arguments: args } }) => [name, args])).toEqual(calls);
  expect(new Set(choice?.message.tool_calls?.map(({ id }) => id)).size).toBe(calls.length);
}); // prettier-ignore

const call = { id: 'abcdefghi', type: 'function', function: asked };
const conversation = [
  { role: 'system', content: 'S' },
  { role: 'user', content: 'G' },
  { role: 'assistant', content: null, tool_calls: [call] },
  { role: 'tool', tool_call_id: call.id, content: 'r' },
  { role: 'user', content: 'N' },
  { role: 'user', content: [{ type: 'text', text: 'M' }] },
];
const said = (): readonly unknown[] =>
  (provider.calls.at(-1)!.body['messages'] as readonly { role: string; content: unknown }[]).map(({ role, content }) => [role, content]);

describe('a conversation that a chat template refuses', () => {
  const between = ['assistant', expect.stringMatching(/./)];
  const rest = [['assistant', null], ['tool', 'r'], between, ['user', 'N\n\nM']] as const; // prettier-ignore
  it.each<readonly [what: string, refusals: readonly Script[], taken: readonly unknown[]]>([
    [
      'Mistral in vLLM',
      [api(400, 'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...')],
      [['system', 'S'], ['user', 'G'], ...rest],
    ],
    [
      'Mistral in llama.cpp',
      [api(500, "While executing CallExpression at line 46: Error: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.", 'server_error')],
      [['system', 'S'], ['user', 'G'], ...rest],
    ],
    ['the API of Mistral', [api(400, "Unexpected role 'user' after role 'tool'")], [['system', 'S'], ['user', 'G'], ...rest]],
    [
      'Gemma 2, which has no system message',
      [api(400, 'System role not supported')],
      [['user', 'S\n\nG'], ...rest],
    ],
    [
      'one that refuses both',
      [api(400, 'Conversation roles must alternate user/assistant'), api(400, 'Only user and assistant roles are supported!')],
      [['user', 'S\n\nG'], ...rest],
    ],
  ])('is sent in the order that it takes, from then on at once: %s', async (_, refusals, taken) => {
    provider.play(...refusals, tell([{ content: 'Hello.' }]));
    expect((await stage.ask({ messages: conversation })).status).toBe(200);
    expect(provider.calls).toHaveLength(refusals.length + 1);
    expect(said()).toEqual(taken);
    expect((await stage.ask({ messages: conversation })).status).toBe(200);
    expect(provider.calls).toHaveLength(refusals.length + 2);
    expect(said()).toEqual(taken);
  }); // prettier-ignore

  it('has one system message, at its beginning', async () => {
    provider.play(api(500, 'Jinja Exception: System message must be at the beginning.'), tell([{ content: 'Hello.' }]));
    const messages = [
      ...conversation.slice(0, 2),
      { role: 'assistant', content: 'a' },
      { role: 'developer', content: 'T' },
      { role: 'user', content: 'N' },
    ];
    expect((await stage.ask({ messages })).status).toBe(200);
    expect(said()).toEqual([['system', 'S\n\nT'], ['user', 'G'], ['assistant', 'a'], ['user', 'N']]); // prettier-ignore
  });

  it.each([
    [
      'DeepSeek',
      'Failed to deserialize: messages[1].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`',
    ],
    ['Mistral', "Input tag 'developer' found using 'role' does not match any of the expected tags: 'system', 'user'"],
    ['Groq', "'messages.1' : discriminator property 'role' has invalid value"],
  ])('has messages of the system alone for a server that knows no developer: %s', async (_who, words) => {
    const messages = [{ role: 'developer', content: 'T' }, ...conversation.slice(1, 2)];
    provider.play(api(400, words), tell([{ content: 'Hello.' }]));
    expect((await stage.ask({ messages })).status).toBe(200);
    expect(said()).toEqual([['system', 'T'], ['user', 'G']]); // prettier-ignore
  });

  it('is refused where no order helps', async () => {
    provider.play(api(400, 'Conversation roles must alternate user/assistant'));
    const { status, body } = await stage.ask({ messages: conversation });
    expect([status, body.error.code, provider.calls.length]).toEqual([400, 'InvalidRequest', 3]);
  });
});

describe('a member that a server does not know', () => {
  const refusing = (isRefused: (body: string) => boolean, script: Script): Script => (call, response) =>
    (isRefused(JSON.stringify(call.body)) ? script : tell([{ content: 'Hello.' }]))(call, response);
  const extra = (...loc: readonly unknown[]): Script =>
    refuse(422, { object: 'error', message: { detail: [{ type: 'extra_forbidden', loc: ['body', ...loc], msg: 'Extra inputs are not permitted' }] } });
  const thought = [{ role: 'user', content: 'G' }, { role: 'assistant', content: 'x', reasoning_content: 'Hm.' }, { role: 'user', content: 'N' }];

  it.each<readonly [who: string, member: string, more: Readonly<Record<string, unknown>>, script: Script]>([
    ['OpenAI', 'top_p', { top_p: 1 }, api(400, "Unsupported parameter: 'top_p' is not supported with this model.")],
    ['OpenAI', 'logprobs', { logprobs: true, top_logprobs: 2 }, api(403, 'You are not allowed to request logprobs from this model')],
    ['OpenAI, by param', 'verbosity', { verbosity: 'low' }, refuse(400, { error: { message: 'Unsupported parameter', param: 'verbosity' } })],
    ['Mistral', 'store', { store: false }, extra('store')],
    ['Mistral', 'reasoning_content', { messages: thought }, extra('messages', 1, 'assistant', 'reasoning_content')],
    ['Groq', 'reasoning_content', { messages: thought }, api(400, "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]")],
    ['Gemini', 'store', { store: true }, refuse(400, [{ error: { code: 400, message: 'Invalid JSON payload received. Unknown name "store": Cannot find field.' } }])],
    ['xAI', 'presence_penalty', { presence_penalty: 0 }, api(400, 'Argument not supported on this model: presencePenalty')],
    ['Ollama', 'reasoning_effort', { reasoning_effort: 'low' }, api(400, '"qwen2.5-coder:7b" does not support thinking')],
    ['a model of one call', 'parallel_tool_calls', { parallel_tool_calls: false }, api(400, "Unrecognized request argument supplied: parallel_tool_calls")],
  ])('is left out, from then on at once: %s, %s', async (_, member, more, script) => {
    provider.play(refusing((body) => body.includes(`"${member}"`), script));
    for (const asked of [2, 3]) {
      expect((await stage.ask(more)).status).toBe(200);
      expect(provider.calls).toHaveLength(asked);
    }
    expect(JSON.stringify(provider.calls[2]!.body)).not.toContain('logprobs');
  });

  const effort = (level: string): object => ({ reasoning_effort: level });
  it.each<readonly [who: string, asked: object, taken: object | undefined, calls: number, script: Script]>([
    ['OpenAI', effort('minimal'), effort('low'), 2, api(400, "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', and 'high'.")],
    ['OpenAI, by param', effort('minimal'), effort('none'), 2, refuse(400, { error: { message: "Unsupported value: 'minimal' is not supported with this model. Supported values are: 'none' and 'high'.", param: 'reasoning_effort' } })],
    ['OpenAI, another one', effort('max'), effort('xhigh'), 2, api(400, "Invalid value for reasoning_effort: 'max'. Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.")],
    ['Groq', effort('xhigh'), effort('high'), 2, api(400, '`reasoning_effort` must be one of `low`, `medium`, or `high`')],
    ['vLLM', effort('none'), effort('low'), 2, api(400, "[{'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\"}]")],
    ['OpenRouter', { reasoning: { effort: 'max', exclude: true } }, { reasoning: { effort: 'high', exclude: true } }, 2, api(400, 'reasoning.effort: Invalid option: expected one of "high"|"medium"|"low"')],
    ['one that names no other', effort('xhigh'), effort('high'), 2, api(400, "reasoning_effort 'xhigh' is not supported")],
    ['a server that does not know the member of OpenRouter', { reasoning: { effort: 'low' } }, effort('low'), 2, api(400, 'Unrecognized request argument supplied: reasoning')],
    ['one that knows none', effort('max'), {}, 2, api(400, 'reasoning_effort is not supported with this model')],
    ['one with a level of its own', effort('a(b'), {}, 2, api(400, "reasoning_effort does not support 'a(b'")],
  ])('has a level of thinking that is taken in the place of one that is not: %s', async (_who, asked, taken, calls, script) => {
    provider.play(refusing((body) => Object.keys(asked).some((name) => body.includes(JSON.stringify((asked as Readonly<Record<string, unknown>>)[name]))), script));
    for (const all of [calls, calls + 1]) {
      expect((await stage.ask(asked as Readonly<Record<string, unknown>>)).status).toBe(200);
      expect(provider.calls).toHaveLength(all);
    }
    const { reasoning_effort: level, reasoning } = provider.calls.at(-1)!.body;
    expect({ ...(level !== undefined && { reasoning_effort: level }), ...(reasoning !== undefined && { reasoning }) }).toEqual(taken);
  });

  it('is left out of one request where its value is refused', async () => {
    const words = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.";
    provider.play(refusing((body) => body.includes('"temperature":0'), api(400, words)));
    expect([(await stage.ask({ temperature: 0 })).status, (await stage.ask({ temperature: 1 })).status]).toEqual([200, 200]);
    expect(provider.calls.map(({ body }) => body['temperature'])).toEqual([0, undefined, 1]);
  });

  it('is no reason to leave out what shapes the answer, or what a message calls the same', async () => {
    provider.play(api(400, "Unsupported parameter: 'stop' and 'tools' are not supported"));
    const messages = [{ role: 'user', content: 'G', tools: 1 }];
    const { body } = await stage.ask({ messages, stop: ['x'], tools: [{ type: 'function', function: { name: 'bash' } }] });
    expect(body.error.code).toBe('InvalidRequest');
    for (const { body: sent } of provider.calls) expect(sent).toMatchObject({ stop: ['x'], tools: [{}] });
  });

  it.each([
    ['Mistral', (id: string) => id.length === 9, 'Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.'],
    ['a template of Mistral', (id: string) => id.length === 9, 'Tool call IDs should be alphanumeric strings with length 9!'],
    ['OpenAI', (id: string) => id.length <= 40, "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40."],
  ])('ids of other servers are short ones for %s', async (_who, isTaken, words) => {
    const id = `chatcmpl-tool-${'a'.repeat(32)}`;
    const idsOf = (body: object): readonly string[] => [...JSON.stringify(body).matchAll(/"(?:tool_call_id|id)":"([^"]*)"/g)].map(([, one]) => one!);
    provider.play((call, response) => (idsOf(call.body).every(isTaken) ? tell([{ content: 'Hello.' }]) : api(400, words))(call, response));
    const messages = [{ role: 'user', content: 'G' }, { role: 'assistant', content: null, tool_calls: [{ ...call, id }] }, { role: 'tool', tool_call_id: id, content: 'r' }];
    expect((await stage.ask({ messages })).status).toBe(200);
    const ids = idsOf(provider.calls[1]!.body);
    expect(ids).toEqual([expect.stringMatching(/^[0-9a-z]{9}$/), ids[0]]);
  });

  it('a bound that is too high is not asked for by another name, which would be none', async () => {
    provider.play(api(400, 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'));
    expect((await stage.ask()).body.error.code).toBe('InvalidRequest');
    expect(provider.calls).toHaveLength(1);
  });
}); // prettier-ignore

it.each<readonly [who: string, script: Script, code: string]>([
  ['Ollama', api(400, 'registry.ollama.ai/library/gemma:2b does not support tools'), 'InvalidRequest'],
  ['vLLM', api(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'), 'InvalidRequest'],
  ['OpenRouter', api(404, 'No endpoints found that support tool use.'), 'ProviderRefused'],
])('a server without tools is refused in words by which the agent asks otherwise: %s', async (_, script, code) => {
  provider.play(script);
  const { body } = await stage.ask({ tools: [{ type: 'function', function: { name: 'bash' } }] });
  expect(body.error).toMatchObject({ code, message: expect.stringMatching(/support tool|tool choice requires/) as string });
});
