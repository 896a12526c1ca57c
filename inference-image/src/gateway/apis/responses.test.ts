// The Responses API: features that the chat API lacks, and refusals.
import { OpenAI } from 'openai';
import type { ResponseCreateParamsNonStreaming, ResponseInputItem, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';
import { staging } from '../testing/staging.ts';
import { chunk, refuse, stream, tell, usage } from '../testing/provider.ts';

const { provider, stage } = staging(() => ({}));

type Body = ResponseCreateParamsNonStreaming & { readonly stream?: false };
const client = (): OpenAI => new OpenAI({ baseURL: `${stage.origin}/v1`, apiKey: 'placeholder', maxRetries: 0 });
const ask = { model: 'expert', store: false, input: [{ role: 'user', content: 'Make it green.' }] } satisfies Body;
const sent = (): readonly Readonly<Record<string, unknown>>[] =>
  (provider.calls.at(-1)?.body['messages'] ?? []) as readonly Readonly<Record<string, unknown>>[];
const shell = { type: 'function', name: 'shell', description: 'Runs.', parameters: { type: 'object' }, strict: false } as const;
const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } as const;
const patch = { type: 'custom', name: 'apply_patch', description: 'Edits.', format: grammar } as const;
const wireCall = (name: string, args: string): object => ({ id: 'call_1', type: 'function', function: { name, arguments: args } });
const patched = '*** Begin Patch\n"x"\n*** End Patch\n';

/** A whole answer, or a stream of it in pieces. */
async function answered(
  how: string,
  body: Body,
  message: { readonly tool_calls: readonly object[]; readonly reasoning_content?: string },
): Promise<OpenAI.Responses.Response> {
  if (how === 'whole') {
    provider.play(tell([message]));
    return client().responses.create(body);
  }
  const { tool_calls: calls, ...rest } = message;
  provider.play(stream([chunk(rest), ...calls.map((call, index) => chunk({ tool_calls: [{ index, ...call }] })), chunk({}, 'tool_calls')]));
  return client()
    .responses.stream({ ...body, stream: true })
    .finalResponse();
}

describe.each(['whole', 'streamed'])('an answer (%s)', (how) => {
  it('calls a custom tool by a function of one text, and returns its output', async () => {
    const body = { ...ask, tools: [patch] };
    const answer = await answered(how, body, { tool_calls: [wireCall('apply_patch', JSON.stringify({ input: patched }))] });
    expect(answer.output).toMatchObject([{ type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', input: patched }]);
    const [tool] = (provider.calls[0]?.body['tools'] ?? []) as readonly object[];
    expect(tool).toMatchObject({ type: 'function', function: { name: 'apply_patch', parameters: { required: ['input'] } } });
    expect(JSON.stringify(tool)).toContain('grammar (lark)');
    provider.play(tell([{ content: 'Done.' }]));
    const output: ResponseInputItem = { type: 'custom_tool_call_output', call_id: 'call_1', output: 'applied' };
    await client().responses.create({ ...body, input: [...ask.input, ...(answer.output as ResponseInputItem[]), output] });
    expect(sent().slice(1)).toEqual([
      { role: 'assistant', content: null, tool_calls: [wireCall('apply_patch', JSON.stringify({ input: patched }))] },
      { role: 'tool', tool_call_id: 'call_1', content: 'applied' },
    ]);
  });

  it('takes bare text for the input of a custom tool', async () => {
    const answer = await answered(how, { ...ask, tools: [patch] }, { tool_calls: [wireCall('apply_patch', patched)] });
    expect(answer.output).toMatchObject([{ type: 'custom_tool_call', input: patched }]);
  });

  it('calls a tool of a namespace', async () => {
    const tools: Body['tools'] = [{ type: 'namespace', name: 'mcp__docs', description: 'Docs.', tools: [shell] }];
    const answer = await answered(how, { ...ask, tools }, { tool_calls: [wireCall('mcp__docs__shell', '{}')] });
    expect(answer.output).toMatchObject([{ type: 'function_call', name: 'shell', namespace: 'mcp__docs', arguments: '{}' }]);
    provider.play(tell([{ content: 'Done.' }]));
    const output: ResponseInputItem = { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'ok' }] };
    await client().responses.create({ ...ask, input: [...ask.input, ...(answer.output as ResponseInputItem[]), output] });
    expect(sent().slice(1)).toMatchObject([{ tool_calls: [{ function: { name: 'mcp__docs__shell' } }] }, { content: 'ok' }]);
  });

  it('carries the state of the provider in reasoning, unread', async () => {
    const message = { reasoning_content: 'I think', tool_calls: [wireCall('shell', '{}')] };
    const answer = await answered(how, { ...ask, tools: [shell] }, message);
    expect(answer.output.map(({ type }) => type)).toEqual(['function_call', 'reasoning']);
    expect(answer.output[1]).toMatchObject({ summary: [{ text: 'I think' }] });
    provider.play(tell([{ content: 'Done.' }]));
    const output: ResponseInputItem = { type: 'function_call_output', call_id: 'call_1', output: 'ok' };
    await client().responses.create({ ...ask, input: [...ask.input, ...(answer.output as ResponseInputItem[]), output] });
    expect(sent()[1]).toEqual({ role: 'assistant', content: null, ...message });
  });
});

it('signed thinking of a model of the Messages API passes through a program of the Responses API', async () => {
  await stage.models({ engine: 'Anthropic', model: 'claude', baseURLs: [provider.url] });
  const content = [
    { type: 'thinking', thinking: 'Look.', signature: 'c2ln' },
    { type: 'tool_use', id: 'call_1', name: 'shell', input: {} },
  ];
  provider.play(
    refuse(200, {
      id: 'm',
      type: 'message',
      role: 'assistant',
      content,
      stop_reason: 'tool_use',
      usage: { input_tokens: 1, output_tokens: 1 },
    }),
  );
  const answer = await client().responses.create({ ...ask, tools: [shell] });
  const output: ResponseInputItem = { type: 'function_call_output', call_id: 'call_1', output: 'ok' };
  await client().responses.create({ ...ask, input: [...ask.input, ...(answer.output as ResponseInputItem[]), output] });
  expect(sent()[1]).toEqual({ role: 'assistant', content });
});

it('a request as coding programs send it: every member is obeyed, dropped or harmless', async () => {
  provider.play(tell([{ content: 'Done.' }]));
  const response = await fetch(`${stage.origin}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'agentfleet-expert': 'expert' },
    body: JSON.stringify({
      model: 'gpt-foreign',
      instructions: 'You repair.',
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Rules.' }] },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'Fix.' },
            { type: 'input_image', image_url: 'data:image/png;base64,aGk=' },
          ],
        },
        { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: 'of another provider' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'First.' }] },
        { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{}' },
        { type: 'function_call', call_id: 'c2', name: 'shell', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'a' },
        { type: 'function_call_output', call_id: 'c2', output: 'b' },
      ],
      tools: [shell, { type: 'web_search', external_web_access: false }],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning: { effort: 'low', summary: 'auto' },
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'x', schema: { type: 'object' }, strict: true } },
      store: false,
      stream: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      service_tier: null,
      client_metadata: {},
      previous_response_id: null,
    }),
  });
  expect(await response.json()).toMatchObject({
    object: 'response',
    status: 'completed',
    model: 'expert',
    store: false,
    usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 40 } },
  });
  const { type: _type, ...fn } = shell;
  expect(provider.calls[0]?.body).toEqual({
    model: 'some-model',
    max_tokens: 1000,
    stream: false,
    messages: [
      { role: 'system', content: 'You repair.\n\nRules.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Fix.' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
        ],
      },
      { role: 'assistant', content: 'First.', tool_calls: ['c1', 'c2'].map((id) => ({ ...wireCall('shell', '{}'), id })) },
      { role: 'tool', tool_call_id: 'c1', content: 'a' },
      { role: 'tool', tool_call_id: 'c2', content: 'b' },
    ],
    tools: [{ type: 'function', function: fn }],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    reasoning_effort: 'low',
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' }, strict: true } },
  });
});

it('an image in the output of a call is shown after it', async () => {
  provider.play(tell([{ content: 'Done.' }]));
  const image = 'data:image/png;base64,aGk=';
  const input: ResponseInputItem[] = [
    ...ask.input,
    { type: 'function_call', call_id: 'call_1', name: 'shell', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_image', image_url: image }] },
  ];
  await client().responses.create({ ...ask, input });
  expect(sent().slice(2)).toMatchObject([
    { role: 'tool', content: '[attachment 1, in the next message]' },
    { role: 'user', content: [{ type: 'text' }, { type: 'image_url', image_url: { url: image } }] },
  ]);
});

it.each<readonly [string, object, object]>([
  ['one tool', { type: 'custom', name: 'apply_patch' }, { tool_choice: { type: 'function', function: { name: 'apply_patch' } } }],
  [
    'some tools',
    { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'shell' }] },
    { tool_choice: 'required', tools: [{ function: { name: 'shell' } }] },
  ],
])('a choice of %s is kept', async (_what, choice, expected) => {
  provider.play(tell([{ content: 'Done.' }]));
  await client().responses.create({ ...ask, tools: [shell, patch], tool_choice: choice as Body['tool_choice'] } as Body);
  expect(provider.calls[0]?.body).toMatchObject(expected);
});

it.each<readonly [string, object, RegExp]>([
  ['an answer before', { previous_response_id: 'resp_1' }, /previous_response_id: no answer is kept: send the whole conversation as input/],
  ['work in the background', { background: true }, /background: nothing is answered later/],
  ['a reference to an item', { input: [{ type: 'item_reference', id: 'x' }] }, /input\.0: an item of type item_reference is not served/],
  [
    'a tool in a form of the vendor',
    { tools: [{ type: 'local_shell' }] },
    /tools\.0: a tool of type local_shell is not served: give it as a function/,
  ],
  ['servers that the vendor would ask', { tools: [{ type: 'mcp', server_label: 'x' }] }, /tools\.0: a tool of type mcp is not served/],
  [
    'a file',
    { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
    /input\.0\.content\.0: a part of type input_file/,
  ],
  ['no input', { input: [] }, /input: must/],
  ['a broken role', { input: [{ role: 'tool', content: 'x' }] }, /input\.0\.role: it is user, assistant/],
])('%s is refused with the member and the cure', async (_what, more, words) => {
  const error = (await client()
    .responses.create({ ...ask, ...more })
    .catch((thrown: unknown) => thrown)) as InstanceType<typeof OpenAI.APIError>;
  expect([error.status, error.code]).toEqual([400, 'InvalidRequest']);
  expect(error.message).toMatch(words);
});

it('a stream has the events of the API in their order, numbered', async () => {
  const pieces = [chunk({ content: 'I ' }), chunk({ content: 'look.' }), chunk({ tool_calls: [{ index: 0, ...wireCall('shell', '{}') }] })];
  provider.play(stream([...pieces, chunk({}, 'tool_calls'), { ...(chunk({}) as object), choices: [], usage }]));
  const events: ResponseStreamEvent[] = [];
  for await (const event of await client().responses.create({ ...ask, tools: [shell], stream: true })) events.push(event);
  expect(events.map((event) => ('sequence_number' in event ? event.sequence_number : -1))).toEqual(events.map((_event, at) => at));
  expect(events.map(({ type }) => type.replace('response.', ''))).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'output_item.added',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'output_item.done',
    'completed',
  ]);
  const last = events.at(-1);
  expect(last?.type === 'response.completed' && last.response).toMatchObject({
    output: [{ type: 'message' }, { type: 'function_call' }],
    usage: { total_tokens: 120 },
  });
});

it('a call that continues after the next began is refused, not mixed up', async () => {
  const piece = (index: number, args: string): unknown =>
    chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: 'shell', arguments: args } }] });
  provider.play(stream([piece(0, '{'), piece(1, '{}'), piece(0, '}'), chunk({}, 'tool_calls')]));
  const answer = await client()
    .responses.stream({ ...ask, tools: [shell] })
    .finalResponse();
  expect(answer).toMatchObject({ status: 'failed', error: { code: 'server_error', gateway_code: 'ProviderMalformed' } });
});
