import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { normalMessage, type ChatRequest, type WireMessage } from '@agentfleet/protocol/chat';
import { anthropicRequest } from '../providers/anthropicRequest.ts';
import { chatOfMessages, messagesRequest } from './messagesRequest.ts';

/** The API takes no blank texts. */
const words = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => text.trim() !== '');
const turn = fc.record({
  user: words,
  text: words,
  results: fc.array(
    fc.record({
      args: fc.dictionary(words, fc.jsonValue({ maxDepth: 1 }), { noNullPrototype: true }),
      result: fc.oneof(fc.constant(''), words),
    }),
    { maxLength: 3 },
  ),
});
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;

function conversation(turns: readonly Turn[]): WireMessage[] {
  return turns.flatMap(({ user, text, results }, at): WireMessage[] => {
    const calls = results.map(({ args }, n) => ({
      id: `call_${at}_${n}`,
      type: 'function' as const,
      function: { name: 'bash', arguments: JSON.stringify(args) },
    }));
    return [
      { role: 'user', content: user },
      { role: 'assistant', content: text, ...(calls.length > 0 && { tool_calls: calls }) },
      ...results.map(({ result }, n): WireMessage => ({ role: 'tool', tool_call_id: `call_${at}_${n}`, content: result })),
    ];
  });
}

it('a conversation of the chat API as one of the Messages API, and back, means the same', () => {
  const choice = fc.constantFrom<unknown>('auto', 'none', 'required', { type: 'function', function: { name: 'bash' } });
  fc.assert(
    fc.property(
      fc.option(words),
      fc.array(turn, { minLength: 1, maxLength: 4 }),
      choice,
      fc.boolean(),
      (system, turns, tool_choice, parallel) => {
        const messages: WireMessage[] = [
          ...(system === null ? [] : [{ role: 'system' as const, content: system }]),
          ...conversation(turns),
        ];
        const tools: ChatRequest['tools'] = [
          { type: 'function', function: { name: 'bash', description: 'Runs.', parameters: { type: 'object' } } },
        ];
        const more = {
          tools,
          tool_choice,
          ...(tool_choice !== 'none' && !parallel && { parallel_tool_calls: false }),
          stop: ['END'],
          max_completion_tokens: 77,
        };
        const model = { name: 'm', engine: 'Anthropic', model: 'c', maxOutputTokens: 100, concurrency: 1, timeoutSeconds: 1 } as const;
        const asked: unknown = JSON.parse(JSON.stringify(anthropicRequest({ body: { model: 'm', messages, ...more }, model })));
        const { messages: back, ...rest } = chatOfMessages(messagesRequest(asked));
        expect(rest).toEqual({ model: 'c', ...more });
        expect(back.map(normalMessage)).toEqual(messages.map(normalMessage));
        expect(back.map(({ tool_call_id: id, tool_calls: calls }) => [id, calls])).toEqual(
          messages.map(({ tool_call_id: id, tool_calls: calls }) => [id, calls]),
        );
      },
    ),
  );
});
