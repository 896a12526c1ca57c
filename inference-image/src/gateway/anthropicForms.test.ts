// Answers of servers of the Messages API that leave out, or write in another form, what the vendor's own has.
import { describe, expect, it } from 'vitest';
import { breakOff, raw, refuse, type Script } from './testing/provider.ts';
import { textOf } from './testing/harness.ts';
import { staging } from './testing/staging.ts';

const { provider, stage } = staging(() => ({ engine: 'Anthropic', model: 'claude' }));

const sse = 'text/event-stream';
const named = (event: object): string => `event: ${(event as { readonly type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`;
const bare = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
const sent = (events: readonly object[], by = named): string => events.map(by).join('');
const usage = { input_tokens: 10, output_tokens: 5 };
const message = { id: 'm', type: 'message', role: 'assistant', model: 'c', content: [], stop_reason: null, usage };
const start = { type: 'message_start', message };
const begin = (block: object, index = 0): object => ({ type: 'content_block_start', index, content_block: block });
const piece = (delta: object, index = 0): object => ({ type: 'content_block_delta', index, delta });
const close = { type: 'content_block_stop', index: 0 };
const end = (reason: string | null): object => ({ type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 5 } });
const stop = { type: 'message_stop' };
const text = [
  begin({ type: 'text', text: '' }),
  piece({ type: 'text_delta', text: 'Hel' }),
  piece({ type: 'text_delta', text: 'lo.' }),
  close,
];
const all = [start, ...text, end('end_turn'), stop];
const whole = { ...message, content: [{ type: 'text', text: 'Hello.' }], stop_reason: 'end_turn' };
const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

describe('a stream is read', () => {
  it.each<readonly [what: string, script: Script]>([
    ['whose events have no names', raw(sent(all, bare), sse)],
    ['whose text begins with its block', raw(sent([start, begin({ type: 'text', text: 'Hel' }), ...all.slice(3)]), sse)],
    ['whose text has no block', raw(sent([start, ...text.slice(1, 3), end('end_turn'), stop]), sse)],
    ['without a beginning', raw(sent(all.slice(1)), sse)],
    ['whose beginning has no message', raw(sent([{ type: 'message_start' }, ...all.slice(1)]), sse)],
    ['without an end', raw(sent(all.slice(0, -1)), sse)],
    ['with the end of the other API', raw(`${sent(all.slice(0, -1))}data: [DONE]\n\n`, sse)],
    ['that breaks off after its reason', breakOff(sent(all.slice(0, -1)), sse)],
    ['whose reason is none', raw(sent([start, ...text, { type: 'message_delta' }, stop]), sse)],
    ['with events of no use', raw(sent(all.slice(0, 3)) + 'event: content_block_delta\ndata: null\n\nevent: ping\n\n' + sent([{ type: 'ping' }, { type: 'new' }, { ...piece({}), delta: null }, piece({ type: 'text_delta' }), ...all.slice(3)]), sse)],
    ['that is a whole answer', refuse(200, whole)],
    ['that has the type of JSON', raw(sent(all), 'application/json')],
  ])('%s', async (_what, script) => {
    provider.play(script);
    const streamed = await stage.stream();
    expect(streamed).toMatchObject({ status: 200, done: true });
    const choices = streamed.chunks.flatMap((one) => one.choices);
    expect([textOf(streamed), choices.at(-1)?.finish_reason, provider.calls.length]).toEqual(['Hello.', 'stop', 1]);
    expect(choices.at(-1)?.delta).toMatchObject({ provider_state: { content: [{ type: 'text', text: 'Hello.' }] } });
  }); // prettier-ignore

  const use = { type: 'tool_use', id: 'a', name: 'f' };
  it.each<readonly [what: string, events: readonly object[]]>([
    ['an object', [begin({ ...use, input: {} }), piece({ type: 'input_json_delta', partial_json: { a: 1 } })]],
    ['its beginning', [begin({ ...use, input: { a: 1 } })]],
    ['a text in its beginning', [begin({ ...use, input: '{"a":1}' })]],
  ])('with the input of a call in %s', async (_what, events) => {
    provider.play(raw(sent([start, ...events, close, end('tool_use'), stop]), sse));
    const calls = (await stage.stream()).chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []));
    expect(calls.map(({ function: called }) => called?.arguments).join('')).toBe('{"a":1}');
  });

  it.each<readonly [what: string, script: Script, code: string, asked: number]>([
    ['an error in the place of a stream', refuse(200, overloaded), 'ProviderUnreachable', 4],
    ['an error without a name', raw(sent([start, ...text.slice(0, 2)]) + bare(overloaded), sse), 'ProviderUnreachable', 1],
    ['an end in the middle', raw(sent(all.slice(0, 3)), sse), 'ProviderMalformed', 1],
    ['what is no JSON', raw(`${sent(all.slice(0, 3))}event: x\ndata: {"ty\n\n`, sse), 'ProviderMalformed', 1],
    ['a web page', raw('<html>', 'text/html'), 'ProviderMalformed', 1],
    ['nothing', (_call, response) => void response.writeHead(204).end(), 'ProviderMalformed', 2],
  ])('as what it is: %s', async (_what, script, code, asked) => {
    provider.play(script);
    expect([(await stage.stream()).error?.code, provider.calls.length]).toEqual([code, asked]);
  });
});

it('an answer is taken as JSON whatever its type, and the input of a call that is a text', async () => {
  const content = [{ type: 'tool_use', id: 'a', name: 'f', input: '{"a":1}' }];
  provider.play(raw(JSON.stringify({ ...whole, content }), 'text/plain'));
  expect((await stage.ask()).body.choices[0]?.message.tool_calls).toMatchObject([{ function: { arguments: '{"a":1}' } }]);
});

it.each([
  ['a text that is none', [{ type: 'text', text: null }]],
  ['no block', [null]],
])('a state with %s is no state, and refuses no conversation', async (_what, content) => {
  provider.play(refuse(200, whole));
  const state = { engine: 'Anthropic', model: 'claude', content };
  const said = { role: 'assistant', content: 'Hm.', provider_state: state };
  expect((await stage.ask({ messages: [{ role: 'user', content: 'a' }, said, { role: 'user', content: 'b' }] })).status).toBe(200);
  expect(provider.calls[0]?.body['messages']).toMatchObject([{}, { content: [{ type: 'text', text: 'Hm.' }] }, {}]);
});
