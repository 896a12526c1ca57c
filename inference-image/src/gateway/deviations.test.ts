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

  it('is refused where no order helps', async () => {
    provider.play(api(400, 'Conversation roles must alternate user/assistant'));
    const { status, body } = await stage.ask({ messages: conversation });
    expect([status, body.error.code, provider.calls.length]).toEqual([400, 'InvalidRequest', 3]);
  });
});

it.each<readonly [who: string, script: Script, code: string]>([
  ['Ollama', api(400, 'registry.ollama.ai/library/gemma:2b does not support tools'), 'InvalidRequest'],
  ['vLLM', api(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'), 'InvalidRequest'],
  ['OpenRouter', api(404, 'No endpoints found that support tool use.'), 'ProviderRefused'],
])('a server without tools is refused in words by which the agent asks otherwise: %s', async (_, script, code) => {
  provider.play(script);
  const { body } = await stage.ask({ tools: [{ type: 'function', function: { name: 'bash' } }] });
  expect(body.error).toMatchObject({ code, message: expect.stringMatching(/support tool|tool choice requires/) as string });
});
