import type { WireMessage } from '@agentfleet/protocol/chat';
import { expect, test } from 'vitest';
import { chunkOf, Streamed, type Delta } from './chunks.ts';
import { OpenAIProvider } from './openai.ts';
import type { Ask } from './provider.ts';
import { ordered } from './openaiRequest.ts';

// What callers and servers send in very many pieces takes linear time: others wait for the same process.

test('very many messages of a user are joined at once', () => {
  const messages: WireMessage[] = Array.from({ length: 100_000 }, () => ({ role: 'user', content: 'x'.repeat(100) }));
  const [only, ...others] = ordered([{ role: 'system', content: 's' }, ...messages], 'WithoutSystem');
  expect(others).toEqual([]);
  expect(only?.content).toHaveLength(1 + 100_000 * 102);
});

test.each(['InTurn', 'WithoutSystem'] as const)('a user who speaks twice is one turn, with the members of the last: %s', (order) => {
  const first = { role: 'user', content: 'a', name: 'x' } as WireMessage;
  const image = { type: 'image_url', image_url: { url: 'data:' } } as const;
  const second = { role: 'user', content: [{ type: 'text', text: 'b' }, image], name: 'y' } as unknown as WireMessage;
  const text = (one: string) => ({ type: 'text', text: one });
  expect(ordered([first, second, { role: 'tool', content: 't' }, first], order)).toEqual([
    { role: 'user', content: [text('a'), text('b'), image], name: 'y' },
    { role: 'tool', content: 't' },
    { role: 'assistant', content: 'Noted.' },
    first,
  ]);
});

test('a list that is streamed in very many pieces is whole, and no piece is changed', () => {
  const streamed = new Streamed();
  const pieces = Array.from({ length: 100_000 }, (_, at) => [at]);
  for (const details of pieces) streamed.add(chunkOf('m', { reasoning_details: details } as Delta));
  expect(streamed.choices('m')[0]?.message).toMatchObject({ reasoning_details: { length: 100_000 } });
  expect(pieces[0]).toEqual([0]);
});

test('a call whose name is repeated in each of very many pieces is one call', async () => {
  const piece = (args: string): string =>
    `data: ${JSON.stringify(chunkOf('m', { tool_calls: [{ index: 0, function: { name: 'f', arguments: args } }] }))}\n\n`;
  const body = `${piece('{"a":"')}${piece('x'.repeat(300)).repeat(20_000)}${piece('"}')}${piece('{}')}data: [DONE]\n\n`;
  const answer = (): Promise<Response> => Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  const model = { name: 'm', model: 'm', timeoutSeconds: 60 };
  const ask = { url: 'http://a', key: null, fetch: answer, model, body: { messages: [] }, signal: new AbortController().signal };
  const indices = new Set<number>();
  for await (const { choices } of new OpenAIProvider().stream(ask as unknown as Ask))
    for (const { index } of choices[0]?.delta.tool_calls ?? []) indices.add(index);
  expect([...indices]).toEqual([0, 1]);
});
