// The Messages API: features that the chat API lacks, and refusals.
import { Anthropic } from '@anthropic-ai/sdk';
import { OpenAI } from 'openai';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { conversationOf, type RecordedExchange } from '@agentfleet/protocol/chat';
import { staging } from '../testing/staging.ts';
import { chunk, raw, refuse, stream, tell, usage } from '../testing/provider.ts';

const { provider, stage } = staging();

type Body = Anthropic.MessageCreateParamsNonStreaming;
const ask: Body = { model: 'expert', max_tokens: 500, messages: [{ role: 'user', content: 'Make it green.' }] };
/** Messages of the last request to the provider. */
const sent = (): readonly { readonly content: readonly object[] }[] =>
  (provider.calls.at(-1)?.body['messages'] ?? []) as readonly { readonly content: readonly object[] }[];
const client = (): Anthropic => new Anthropic({ baseURL: stage.origin, apiKey: 'placeholder', maxRetries: 0 });
const ephemeral = { type: 'ephemeral' } as const;
const tool = { name: 'bash', input_schema: { type: 'object' as const } };
const thinking = { type: 'thinking', thinking: 'Look first.', signature: 'c2lnbmVk' } as const;
const hidden = { type: 'redacted_thinking', data: 'abc' } as const;
const use = { type: 'tool_use', id: 'toolu_1', name: 'bash', input: { command: 'ls' } } as const;
const counts = { input_tokens: 10, cache_creation_input_tokens: 20, cache_read_input_tokens: 70, output_tokens: 5 };
const message = (content: readonly object[], more: object = {}): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content,
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: counts,
  ...more,
});

describe('to a model of the same vendor', () => {
  beforeEach(async () => {
    await stage.models({ engine: 'Anthropic', model: 'claude', baseURLs: [provider.url] });
    await stage.start();
  });

  const events = [
    { type: 'message_start', message: { ...message([]), stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { ...thinking, thinking: '', signature: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Look ' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'first.' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: thinking.signature } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: hidden },
    { type: 'content_block_stop', index: 1 },
    { type: 'content_block_start', index: 2, content_block: { ...use, input: {} } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"command":"ls"}' } },
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ];
  const streamed = raw(events.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join(''), 'text/event-stream');
  const whole = refuse(200, message([thinking, hidden, use]));

  it.each([
    ['whole', whole],
    ['streamed', streamed],
  ])('signed thinking comes, and goes back, as it was (%s)', async (how, script) => {
    provider.play(script);
    const body: Body = { ...ask, tools: [tool], thinking: { type: 'enabled', budget_tokens: 200_000 } };
    const answer = how === 'whole' ? await client().messages.create(body) : await client().messages.stream(body).finalMessage();
    expect(answer.content).toEqual([thinking, hidden, use]);
    expect(answer).toMatchObject({ model: 'expert', usage: counts, stop_reason: 'tool_use' });
    provider.play(whole);
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'no such file', is_error: true } as const;
    await client().messages.create({
      ...body,
      messages: [...ask.messages, { role: 'assistant', content: answer.content }, { role: 'user', content: [result] }],
    });
    const [, back, results] = sent();
    expect(back?.content).toEqual([thinking, hidden, use]);
    expect(results?.content[0]).toMatchObject({ type: 'tool_result', is_error: true });
  });

  it('marks of the cache stay where the client set them, and the gateway sets none', async () => {
    provider.play(whole);
    const system = [{ type: 'text', text: 'a' } as const, { type: 'text', text: 'b', cache_control: ephemeral } as const];
    const content = [{ type: 'text', text: 'c', cache_control: { ...ephemeral, ttl: '1h' } } as const];
    await client().messages.create({
      ...ask,
      system,
      messages: [{ role: 'user', content }],
      tools: [{ ...tool, cache_control: ephemeral, eager_input_streaming: true }],
    });
    expect(provider.calls[0]?.body).toMatchObject({
      system,
      messages: [{ content }],
      tools: [{ cache_control: ephemeral, eager_input_streaming: true }],
    });
    expect(JSON.stringify(provider.calls[0]?.body).match(/cache_control/g)).toHaveLength(3);
  });

  it('a document is passed on, one of text as text, and an image costs no more than an image', async () => {
    provider.play(whole);
    const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' } } as const;
    const note = { type: 'document', title: 'Note', source: { type: 'text', media_type: 'text/plain', data: 'Hi.' } } as const;
    const messages = [{ role: 'user' as const, content: [pdf, note] }];
    await client().messages.create({ ...ask, messages });
    expect(sent()[0]?.content).toMatchObject([pdf, { type: 'text', text: 'Note\n\nHi.' }]);
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } } as const;
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: [image] } as const;
    const shown = { ...result, content: [...result.content] };
    await client().messages.create({
      ...ask,
      messages: [...ask.messages, { role: 'assistant', content: [use] }, { role: 'user', content: [shown] }],
    });
    expect(sent()[2]?.content).toMatchObject([shown]);
    const big = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'a'.repeat(100_000) } } as const;
    expect(await client().messages.countTokens({ model: 'expert', messages: [{ role: 'user', content: [big] }] })).toEqual({
      input_tokens: 1600,
    });
  });

  it('options go on, thinking within the bound of tokens of the pool, and the sequence that ended it comes back', async () => {
    provider.play(refuse(200, message([{ type: 'text', text: 'x' }], { stop_reason: 'stop_sequence', stop_sequence: 'END' })));
    await stage.models({ engine: 'Anthropic', model: 'claude', baseURLs: [provider.url], maxOutputTokens: 2000 });
    const options = { temperature: 1, top_k: 5, metadata: { user_id: 'u' }, stop_sequences: ['END'] };
    const answer = await client().messages.create({
      ...ask,
      max_tokens: 9000,
      ...options,
      thinking: { type: 'enabled', budget_tokens: 5000 },
    });
    expect(answer).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
    expect(provider.calls[0]?.body).toMatchObject({ ...options, max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1999 } });
  });
});

describe('to a model of another vendor', () => {
  beforeEach(async () => {
    await stage.models({ baseURLs: [provider.url] });
    await stage.start();
  });
  const message = {
    reasoning_content: 'I think',
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'bash', arguments: '{}' } }],
  };
  const pieces = [
    chunk({ reasoning_content: 'I ' }),
    chunk({ reasoning_content: 'think' }),
    chunk({ tool_calls: [{ index: 0, ...message.tool_calls[0] }] }),
    chunk({}, 'tool_calls'),
  ];

  it.each([
    ['whole', true],
    ['whole', false],
    ['streamed', true],
    ['streamed', false],
  ])('what its server wants back goes through the client unread (%s, thinking asked for: %s)', async (how, wanted) => {
    const body: Body = { ...ask, tools: [tool], ...(wanted && { thinking: { type: 'enabled', budget_tokens: 1024 } }) };
    provider.play(how === 'whole' ? tell([message]) : stream(pieces));
    const answer = how === 'whole' ? await client().messages.create(body) : await client().messages.stream(body).finalMessage();
    expect(answer.content.map(({ type }) => type)).toEqual([...(wanted ? ['thinking'] : []), 'tool_use', 'redacted_thinking']);
    provider.play(tell([{ content: 'Done.' }]));
    const result = { type: 'tool_result', tool_use_id: 'c1', content: 'ok' } as const;
    await client().messages.create({
      ...body,
      messages: [...ask.messages, { role: 'assistant', content: answer.content }, { role: 'user', content: [result] }],
    });
    expect(sent()[1]).toEqual({ role: 'assistant', content: null, ...message });
  });

  it('gets no member of the Messages API, and texts that a mark kept apart as one', async () => {
    provider.play(tell([{ content: 'Done.' }]));
    const content = [{ type: 'text', text: 'a', cache_control: ephemeral } as const, { type: 'text', text: 'b' } as const];
    const back = [{ role: 'assistant' as const, content: [thinking, { type: 'text' as const, text: 'c' }] }];
    await client().messages.create({
      ...ask,
      thinking: { type: 'adaptive' },
      metadata: {},
      messages: [{ role: 'user', content }, ...back, ...ask.messages],
    });
    expect(provider.calls[0]?.body).toEqual({
      model: 'some-model',
      max_tokens: 500,
      stream: false,
      messages: [
        { role: 'user', content: 'a\n\nb' },
        { role: 'assistant', content: 'c' },
        { role: 'user', content: 'Make it green.' },
      ],
    });
  });

  it('shows that there was a document, and lists tools that a search found', async () => {
    provider.play(tell([{ content: 'Done.' }]));
    const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' } } as const;
    const content: Anthropic.ContentBlockParam[] = [
      { type: 'tool_result', tool_use_id: 'toolu_1', content: [pdf] },
      { type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'tool_reference', tool_name: 'bash' }] },
    ];
    const uses = [use, { ...use, id: 'toolu_2' }];
    await client().messages.create({
      ...ask,
      messages: [...ask.messages, { role: 'assistant', content: uses }, { role: 'user', content }],
    });
    expect(sent().slice(2)).toMatchObject([
      { content: '[a document, which this model cannot be shown; read it as text]' },
      { content: 'The tool bash can be called.' },
    ]);
  });

  it('images of results are shown after the last result, which is text', async () => {
    provider.play(tell([{ content: 'Done.' }]));
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } } as const;
    const content: Anthropic.ContentBlockParam[] = [
      { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'a.png' }, image] },
      { type: 'tool_result', tool_use_id: 'toolu_2', content: [image] },
      { type: 'text', text: 'Go on.' },
    ];
    const uses = [use, { ...use, id: 'toolu_2' }];
    await client().messages.create({
      ...ask,
      messages: [...ask.messages, { role: 'assistant', content: uses }, { role: 'user', content }],
    });
    const part = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } };
    const text = (at: number): object => ({ type: 'text', text: `Attachment ${at} of the results:` });
    expect(sent().slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'toolu_1', content: 'a.png\n\n[attachment 1, in the next message]' },
      { role: 'tool', tool_call_id: 'toolu_2', content: '[attachment 2, in the next message]' },
      { role: 'user', content: [text(1), part, text(2), part] },
      { role: 'user', content: 'Go on.' },
    ]);
  });

  it.each([
    ['nothing', [{ type: 'text', text: '' } as const]],
    ['thinking of another model', [thinking]],
    ['thinking that the gateway wrote', [{ ...thinking, signature: 'agentfleet' }]],
  ])('a turn of the model that is %s alone is left out', async (_what, content) => {
    provider.play(tell([{ content: 'Done.' }]));
    await client().messages.create({ ...ask, messages: [...ask.messages, { role: 'assistant', content }, ...ask.messages] });
    expect(sent()).toEqual([...ask.messages, ...ask.messages]);
  });

  it('images go on as parts', async () => {
    provider.play(tell([{ content: 'A cat.' }]));
    const source = { type: 'base64', media_type: 'image/png', data: 'aGk=' } as const;
    await client().messages.create({ ...ask, messages: [{ role: 'user', content: [{ type: 'image', source }] }] });
    expect(provider.calls[0]?.body['messages']).toEqual([
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } }] },
    ]);
  });

  it('secrets are removed from every text', async () => {
    provider.play(tell([{ content: 'Done.' }]));
    const secret = `ghp_${'a1B2'.repeat(9)}`;
    const result: Anthropic.ToolResultBlockParam = {
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [{ type: 'text', text: secret, cache_control: ephemeral }],
    };
    const said = { role: 'assistant', content: [{ type: 'text', text: secret }, use] } as const;
    await client().messages.create({
      ...ask,
      system: secret,
      messages: [...ask.messages, { ...said, content: [...said.content] }, { role: 'user', content: [result] }],
    });
    expect(JSON.stringify(provider.calls[0]?.body)).not.toContain(secret);
    expect(await stage.metrics()).toMatch(/agentfleet_gateway_redactions_total\{kind="[^"]+"\} 3/);
  });

  const served = {
    search_result: /messages\.0\.content\.0: a block of type search_result is not served/,
    bash_20250124: /the tool bash is of the vendor's type bash_20250124/,
  };
  it.each<readonly [string, object, RegExp]>([
    ['a search result', { messages: [{ role: 'user', content: [{ type: 'search_result', source: 'x' }] }] }, served.search_result],
    ['a tool in a form of the vendor', { tools: [{ type: 'bash_20250124', name: 'bash' }] }, served.bash_20250124],
    [
      'servers that the vendor would ask',
      { mcp_servers: [{ url: 'x' }] },
      /mcp_servers: not served: the model would act outside the sandbox/,
    ],
    ['no messages', { messages: [] }, /messages: must NOT have fewer/],
    ['a broken role', { messages: [{ role: 'tool', content: 'x' }] }, /messages\.0\.role/],
    ['an unnamed tool', { tools: [{ name: '', input_schema: {} }] }, /tools\.0\.function\.name/],
  ])('%s is refused with the member and the cure', async (_what, more, words) => {
    const error = (await client()
      .messages.create({ ...ask, ...more })
      .catch((thrown: unknown) => thrown)) as InstanceType<typeof Anthropic.APIError>;
    expect([error.status, error.error]).toMatchObject([
      400,
      { type: 'error', error: { type: 'invalid_request_error', code: 'InvalidRequest' } },
    ]);
    expect(error.message).toMatch(words);
    expect(error.headers?.get('x-should-retry')).toBe('false');
  });

  it('names of tools are as long as the API takes them', async () => {
    const name = `mcp__${'x'.repeat(123)}`;
    provider.play(tell([{ content: 'Done.' }]));
    await client().messages.create({ ...ask, tools: [{ ...tool, name }] });
    expect(provider.calls[0]?.body['tools']).toMatchObject([{ function: { name } }]);
  });

  it('tools that the vendor would run are left out', async () => {
    provider.play(tell([{ content: 'Done.' }]));
    await client().messages.create({
      ...ask,
      tools: [
        { ...tool, eager_input_streaming: true },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
    });
    expect(provider.calls[0]?.body['tools']).toEqual([{ type: 'function', function: { name: 'bash', parameters: tool.input_schema } }]);
  });

  it('is listed for both libraries, and tokens are estimated without it', async () => {
    expect((await client().models.list()).data).toMatchObject([{ id: 'expert', type: 'model', display_name: 'expert' }]);
    const openai = new OpenAI({ baseURL: `${stage.origin}/v1`, apiKey: 'x' });
    expect((await openai.models.list()).data).toMatchObject([{ id: 'expert', object: 'model' }]);
    const { max_tokens: _most, ...counted } = { ...ask, system: 'x'.repeat(3000) };
    expect(await client().messages.countTokens(counted)).toEqual({ input_tokens: 1005 });
    expect(provider.calls).toHaveLength(1);
  });
});

it('a stream begins with the estimate of its prompt and ends with the usage', async () => {
  await stage.models({ baseURLs: [provider.url] });
  await stage.start();
  provider.play(stream([chunk({ content: 'Hi' }), chunk({}, 'stop'), { ...(chunk({}) as object), choices: [], usage }]));
  const types: string[] = [];
  for await (const event of await client().messages.create({ ...ask, stream: true })) {
    types.push(event.type);
    if (event.type === 'message_start') expect(event.message.usage).toMatchObject({ input_tokens: 5, output_tokens: 0 });
    if (event.type === 'message_delta')
      expect(event.usage).toMatchObject({ input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 20 });
  }
  expect(types).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
});

it('a recording through it plays through the chat API', async () => {
  await mkdir(stage.path('records'));
  await stage.models({ name: 'live', baseURLs: [provider.url] }, { engine: 'Replay', recording: stage.path('records') });
  await stage.start({ AGENTFLEET_RECORD_TO: stage.path('live') });
  provider.play(tell([{ content: 'Done.' }]));
  await client().messages.create({ ...ask, model: 'live', system: 'You repair.' });
  const [file = ''] = await readdir(stage.path('live'));
  const line = await readFile(stage.path(`live/${file}`), 'utf8');
  await stage.write('records/one.json', JSON.stringify(conversationOf([JSON.parse(line) as RecordedExchange])));
  const messages = [
    { role: 'system', content: 'You repair.' },
    { role: 'user', content: 'Make it green.' },
  ];
  expect((await stage.ask({ messages })).body.choices[0]?.message.content).toBe('Done.');
});
