// The gateway in front of the Messages API: the requests sent, the answers, and the state returned with the next
// request.
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { WireMessage } from '@agentfleet/protocol/chat';
import { raw, refuse } from './testing/provider.ts';
import { textOf } from './testing/harness.ts';
import { staging } from './testing/staging.ts';

const { provider, stage } = staging((stage) => ({ engine: 'Anthropic', model: 'claude', credentialFile: stage.path('key') }));

/** Messages of the n-th request to the provider. */
const messagesOf = (at: number): readonly object[] => (provider.calls[at]?.body['messages'] ?? []) as readonly object[];

const counts = { input_tokens: 10, cache_creation_input_tokens: 20, cache_read_input_tokens: 70, output_tokens: 5 };
const thinking = { type: 'thinking', thinking: 'Look first.', signature: 'c2lnbmVk' };
const use = { type: 'tool_use', id: 'toolu_1', name: 'bash', input: { command: 'ls' } };
const message = (content: readonly object[], reason = 'end_turn'): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-1',
  content,
  stop_reason: reason,
  usage: counts,
});
const bash = { type: 'function', function: { name: 'bash', description: 'Runs.', parameters: { type: 'object', properties: {} } } };
const ephemeral = { type: 'ephemeral' };
const goal: WireMessage[] = [
  { role: 'system', content: 'You repair.' },
  { role: 'user', content: 'Make it green.' },
];

describe('a request', () => {
  it('has the system apart, tools in their form, marks on the stable prefix, and the key in its header', async () => {
    provider.play(refuse(200, message([{ type: 'text', text: 'Done.' }])));
    await stage.ask({ messages: goal, tools: [bash], tool_choice: 'required', parallel_tool_calls: false });
    const [call] = provider.calls;
    expect(call?.path).toBe('/api/v1/messages');
    expect(call?.headers['authorization']).toBe('Bearer sk-first-key');
    expect(call?.headers['anthropic-version']).toMatch(/^20\d\d-/);
    expect(call?.body).toEqual({
      model: 'claude',
      max_tokens: 1000,
      system: [{ type: 'text', text: 'You repair.', cache_control: ephemeral }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Make it green.', cache_control: ephemeral }] }],
      tools: [{ name: 'bash', description: 'Runs.', input_schema: { type: 'object', properties: {} } }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
    });
  });

  it('takes a conversation of another provider: calls, their results, broken arguments, ids of any alphabet', async () => {
    provider.play(refuse(200, message([{ type: 'text', text: 'Done.' }])));
    const call = (id: string, args: string): object => ({ id, type: 'function', function: { name: 'bash', arguments: args } });
    const calls = [call('functions.bash:0', '{"command":"ls"}'), call('functions.bash_0', '{"comm')];
    const messages = [
      ...goal,
      {
        role: 'assistant',
        content: null,
        tool_calls: calls,
        provider_state: { engine: 'OpenAI', model: 'x', message: { a: 1 }, calls: {} },
      },
      { role: 'tool', tool_call_id: 'functions.bash:0', content: 'a.txt' },
      { role: 'tool', tool_call_id: 'functions.bash_0', content: '' },
      { role: 'user', content: 'Go on.' },
    ];
    await stage.ask({ messages });
    expect(messagesOf(0).slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { ...use, id: 'functions_bash_0' },
          { ...use, id: 'functions_bash_0_1', input: { arguments: '{"comm' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'functions_bash_0', content: [{ type: 'text', text: 'a.txt' }] },
          { type: 'tool_result', tool_use_id: 'functions_bash_0_1' },
          { type: 'text', text: 'Go on.', cache_control: ephemeral },
        ],
      },
    ]);
  });

  it('has no blank texts and no thinking at the end of a turn, and the ids of the model', async () => {
    const calls = [{ id: 'Bash:0', type: 'function', function: { name: 'bash', arguments: '{}' } }];
    const state = (content: readonly object[]): object => ({ engine: 'Anthropic', model: 'claude', content });
    provider.play(refuse(200, message([{ type: 'text', text: 'Done.' }])));
    await stage.ask({
      messages: [
        { role: 'user', content: ' \n' },
        { role: 'assistant', content: null, tool_calls: calls, provider_state: state([{ type: 'text', text: '' }, { ...use, id: 'Bash:0' }]) },
        { role: 'tool', tool_call_id: 'Bash:0', content: '\n' },
        { role: 'assistant', content: '\n\n', provider_state: state([thinking, { type: 'text', text: '\n\n' }]) },
        { role: 'user', content: 'Go on.' },
      ],
    });
    expect(messagesOf(0)).toEqual([
      { role: 'user', content: [{ type: 'text', text: '(empty)', cache_control: ephemeral }] },
      { role: 'assistant', content: [{ ...use, id: 'Bash:0' }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'Bash:0' }, { type: 'text', text: 'Go on.', cache_control: ephemeral }] },
    ]);
  }); // prettier-ignore

  it.each<readonly [who: string, path: string, more: object, words: string, left: object, asked: number]>([
    ['Opus', 'messages', { temperature: 0 }, '`temperature` is deprecated for this model.', {}, 3],
    ['Haiku', 'messages', { thinking: { type: 'adaptive' } }, 'adaptive thinking is not supported on this model', {}, 4],
    ['Haiku', 'chat/completions', { reasoning_effort: 'low', response_format: { type: 'json_schema', json_schema: { schema: {} } } }, 'This model does not support the effort parameter.', { output_config: { format: { type: 'json_schema', schema: {} } } }, 3],
  ])('is without what its model does not take, from then on at once where no other value is taken: %s, %s, %j', async (_who, path, more, words, left, last) => {
    const refusal = refuse(400, { type: 'error', error: { type: 'invalid_request_error', message: words } });
    const refused = /"(?:temperature|thinking|effort)"/;
    provider.play((call, response) => (refused.test(JSON.stringify(call.body)) ? refusal : refuse(200, message([])))(call, response));
    const body = JSON.stringify({ model: 'expert', max_tokens: 2000, messages: [{ role: 'user', content: 'G' }], ...more });
    for (const asked of [2, last]) {
      const answer = await fetch(`${stage.origin}/v1/${path}`, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
      expect([answer.status, provider.calls.length]).toEqual([200, asked]);
    }
    expect(provider.calls.at(-1)!.body).toEqual({ model: 'claude', max_tokens: 1000, messages: [{ role: 'user', content: [{ type: 'text', text: 'G', cache_control: ephemeral }] }], ...left });
  }); // prettier-ignore

  it.each<readonly [who: string, more: object, isTaken: RegExp, words: string, taken: object, asked: number]>([
    ['thinking of a budget', { thinking: { type: 'enabled', budget_tokens: 500 } }, /"adaptive"/, '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".', { thinking: { type: 'adaptive' } }, 2],
    ['a level above all', { output_config: { effort: 'max' } }, /"high"/, "output_config.effort: 'max' is not supported by this model", { output_config: { effort: 'high' } }, 2],
    ['a level that others are named for', { output_config: { effort: 'xhigh' } }, /"medium"/, "This model does not support effort 'xhigh': use 'low' or 'medium'", { output_config: { effort: 'medium' } }, 2],
    ['a level, and then any', { output_config: { effort: 'max' } }, /^(?!.*effort)/, 'effort level max is not supported', {}, 3],
  ])('has in its place what a model takes, from then on at once: %s', async (_what, more, isTaken, words, taken, asked) => {
    const refusal = refuse(400, { type: 'error', error: { type: 'invalid_request_error', message: words } });
    provider.play((call, response) => (isTaken.test(JSON.stringify(call.body)) ? refuse(200, message([])) : refusal)(call, response));
    const body = JSON.stringify({ model: 'expert', max_tokens: 2000, messages: [{ role: 'user', content: 'G' }], ...more });
    for (const calls of [asked, asked + 1]) {
      const answer = await fetch(`${stage.origin}/v1/messages`, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
      expect([answer.status, provider.calls.length]).toEqual([200, calls]);
    }
    const { model: _model, max_tokens: _most, messages: _messages, ...rest } = provider.calls.at(-1)!.body;
    expect(rest).toEqual(taken);
  }); // prettier-ignore

  it('is made of its own members: a client has no way to the request of the provider', async () => {
    provider.play(refuse(200, message([{ type: 'text', text: 'Done.' }])));
    await stage.ask({ messages: goal });
    const tools = [{ type: 'web_fetch_20250910', name: 'web_fetch' }];
    await stage.ask({
      messages: goal,
      messages_options: { model: 'dearest', max_tokens: 64_000, messages: [], system: 'x', tools, top_k: 1 },
    });
    expect(provider.calls[1]?.body).toEqual(provider.calls[0]?.body);
  });

  it.each([
    [{ reasoning_effort: 'minimal' }, { effort: 'low' }],
    [{ reasoning: { effort: 'max' } }, { effort: 'max' }],
    [{ reasoning: { effort: 'low' }, reasoning_effort: 'high' }, { effort: 'high' }],
    [{ reasoning_effort: 'none', reasoning: null }, undefined],
  ])('asks for the level of thinking that %j means', async (more, config) => {
    provider.play(refuse(200, message([])));
    await stage.ask({ messages: goal, ...more });
    expect(provider.calls[0]?.body['output_config']).toEqual(config);
  });

  it('asks for a schema where one is wanted', async () => {
    provider.play(refuse(200, message([{ type: 'text', text: '{}' }])));
    const schema = { type: 'object', properties: {} };
    await stage.ask({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } }, reasoning_effort: 'low' });
    expect(provider.calls[0]?.body['output_config']).toEqual({ effort: 'low', format: { type: 'json_schema', schema } });
  });
});

/** Sends texts 100 ms apart, each alone shorter than the limit of silence. */
function drip(response: Pick<ServerResponse, 'write' | 'end'>, texts: readonly string[]): void {
  const left = [...texts];
  const timer = setInterval(() => {
    response.write(left.shift() ?? '');
    if (left.length > 0) return;
    clearInterval(timer);
    response.end();
  }, 100);
}

describe('an answer', () => {
  it('has text, calls, the end and the usage of the chat API', async () => {
    provider.play(refuse(200, message([thinking, { type: 'text', text: 'I look.' }, use], 'tool_use')));
    const { body } = await stage.ask({ messages: goal });
    expect(body).toMatchObject({ id: 'msg_1', object: 'chat.completion', created: expect.any(Number) as number });
    expect(body.usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 70 } });
    expect(body.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { content: 'I look.', tool_calls: [{ id: 'toolu_1', function: { name: 'bash', arguments: '{"command":"ls"}' } }] },
    });
  });

  it('is returned unchanged with its signed thinking, to the same model only', async () => {
    const content = [thinking, { type: 'redacted_thinking', data: 'abc' }, { type: 'text', text: 'I look.' }, use];
    provider.play(refuse(200, message(content, 'tool_use')));
    const [choice] = (await stage.ask({ messages: goal })).body.choices;
    const messages = [...goal, choice?.message, { role: 'tool', tool_call_id: 'toolu_1', content: 'a.txt' }];
    await stage.ask({ messages });
    expect(messagesOf(1)[1]).toEqual({ role: 'assistant', content });
    await stage.models({ engine: 'Anthropic', model: 'another', baseURLs: [provider.url] });
    await stage.ask({ messages });
    expect(messagesOf(2)[1]).toEqual({ role: 'assistant', content: content.slice(2) });
  });

  it.each([
    ['is an error', { type: 'error', error: { type: 'api_error', message: 'no' }, usage: counts }, 400],
    ['is no message', { content: 'none', usage: counts }, 200],
  ])('that %s is charged as far as it reports what it used', async (_what, body, prompt) => {
    provider.play(refuse(200, body));
    expect((await stage.ask()).body.error.usage).toMatchObject({ prompt_tokens: prompt });
  });

  it('has n choices from n requests', async () => {
    provider.play(refuse(200, message([{ type: 'text', text: 'Done.' }])));
    const { body } = await stage.ask({ n: 3 });
    expect(body.choices).toHaveLength(3);
    expect(body.usage).toMatchObject({ prompt_tokens: 300 });
  });

  it.each([
    [refuse(401, { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } }), 'CredentialRefused'],
    [
      refuse(400, { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 300000 tokens' } }),
      'ContextExceeded',
    ],
    [
      refuse(400, {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000' },
      }),
      'ContextExceeded',
    ],
    [refuse(404, { type: 'error', error: { type: 'not_found_error', message: 'model: claude' } }), 'ModelNotAtProvider'],
    [refuse(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }), 'ProviderUnreachable'],
    [refuse(400, { error: { message: 'Your credit balance is too low' } }), 'ProviderRefused'],
    [refuse(200, { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long' } }), 'ContextExceeded'],
    [raw('<html>', 'text/html'), 'ProviderMalformed'],
    [refuse(200, { choices: [] }), 'ProviderMalformed'],
    [raw('{"content": ['), 'ProviderMalformed'],
  ])('is refused with the code of the fault (%#)', async (script, code) => {
    provider.play(script);
    const { body, text } = await stage.ask();
    expect(body.error.code).toBe(code);
    expect(text).not.toContain('sk-first-key');
  });
});

const event = (data: { readonly type: string }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const delta = (index: number, value: object): string => event({ type: 'content_block_delta', index, delta: value } as { type: string });
const start = (index: number, block: object): string =>
  event({ type: 'content_block_start', index, content_block: block } as { type: string });
const events = [
  event({ type: 'message_start', message: { ...message([], ''), usage: { ...counts, output_tokens: 1 } } } as { type: string }),
  start(0, { type: 'thinking', thinking: '', signature: '' }),
  ...['Look', ' ', 'f', 'i', 'r', 's', 't', '.'].map((thinking) => delta(0, { type: 'thinking_delta', thinking })),
  delta(0, { type: 'signature_delta', signature: 'c2lnbmVk' }),
  event({ type: 'content_block_stop', index: 0 } as { type: string }),
  start(1, { type: 'text', text: '' }),
  delta(1, { type: 'text_delta', text: 'I look.' }),
  start(2, { ...use, input: {} }),
  delta(2, { type: 'input_json_delta', partial_json: '{"command":' }),
  delta(2, { type: 'input_json_delta', partial_json: '"ls"}' }),
  event({ type: 'content_block_stop', index: 2 } as { type: string }),
  start(3, { ...use, id: 'toolu_2', input: {} }),
  event({ type: 'content_block_stop', index: 3 } as { type: string }),
  event({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } } as { type: string }),
  event({ type: 'message_stop' }),
];

describe('a stream', () => {
  it('yields text and calls in pieces, and last the state of the model', async () => {
    provider.play(raw(events.join(''), 'text/event-stream'));
    const streamed = await stage.stream({ messages: goal });
    expect(textOf(streamed)).toBe('I look.');
    const choices = streamed.chunks.flatMap((one) => one.choices);
    expect(choices.flatMap((one) => one.delta.tool_calls ?? []).map((one) => one.function?.arguments)).toEqual([
      '',
      '{"command":',
      '"ls"}',
      '',
      '{}',
    ]);
    expect(choices.at(-1)).toMatchObject({
      finish_reason: 'tool_calls',
      delta: {
        provider_state: {
          engine: 'Anthropic',
          content: [thinking, { type: 'text', text: 'I look.' }, use, { ...use, id: 'toolu_2', input: {} }],
        },
      },
    });
    expect(streamed.chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 5 });
  });

  it.each<readonly [who: string, start: object | undefined, end: object | undefined, usage: object]>([
    [
      'Z.ai and Ollama, at the end alone',
      { input_tokens: 0, output_tokens: 0 },
      { input_tokens: 30, output_tokens: 5, cache_read_input_tokens: 70 },
      { prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 70 } },
    ],
    ['one that has none at the end', counts, undefined, { prompt_tokens: 100 }],
    ['one that has none', undefined, undefined, { estimated: true }],
  ])('is charged with what its server counts: %s', async (_who, first, last, used) => {
    const ends = [
      event({ type: 'message_start', message: { ...message([], ''), usage: first } } as { type: string }),
      ...events.slice(1, -2),
      event({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: last } as { type: string }),
      event({ type: 'message_stop' }),
    ];
    provider.play(raw(ends.join(''), 'text/event-stream'));
    expect(await stage.stream({ messages: goal })).toMatchObject({ done: true, chunks: expect.arrayContaining([expect.objectContaining({ usage: expect.objectContaining(used) as object })]) as object });
  }); // prettier-ignore

  it('that thinks for longer than the limit of silence continues, and a chat shows nothing of it', async () => {
    provider.play((_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      drip(response, events);
    });
    const streamed = await stage.stream({ messages: goal });
    expect(streamed).toMatchObject({ done: true });
    expect(JSON.stringify(streamed.chunks.slice(0, -2))).not.toContain('Look');
  });

  it('whose provider sends pings alone for longer than the limit of silence continues', async () => {
    provider.play((_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const [first = '', ...rest] = events;
      drip(response, [first, ...Array.from({ length: 6 }, () => event({ type: 'ping' })), rest.join('')]);
    });
    expect(textOf(await stage.stream({ messages: goal }))).toBe('I look.');
  });

  it('that is overloaded before its first block is asked for again', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    provider.play(raw(events.slice(0, 1).join('') + event(error), 'text/event-stream'), raw(events.join(''), 'text/event-stream'));
    const streamed = await stage.stream({ messages: goal });
    expect([textOf(streamed), streamed.done, provider.calls.length]).toEqual(['I look.', true, 2]);
    expect(streamed.chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
  });

  it('whose event is an error ends with its code', async () => {
    const error = { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } };
    provider.play(raw(events.slice(0, 3).join('') + event(error), 'text/event-stream'));
    expect(await stage.stream({ messages: goal })).toMatchObject({ done: false, error: { code: 'RateLimited' } });
  });

  it('that ends in the middle is an error', async () => {
    provider.play(raw(events.slice(0, 14).join(''), 'text/event-stream'));
    expect(await stage.stream({ messages: goal })).toMatchObject({ done: false, error: { code: 'ProviderMalformed' } });
  });
});
