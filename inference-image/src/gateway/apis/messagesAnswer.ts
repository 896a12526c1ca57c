import { randomUUID } from 'node:crypto';
import type { ChatCompletion, WireMessage, WireUsage } from '@agentfleet/protocol/chat';
import type { GatewayError } from '../providers/gatewayError.ts';
import { inputOf, isAnthropicState } from '../providers/index.ts';
import type { Tagged } from './api.ts';
import { carried, ownSignature, reasoningOf, wordsOf } from './carried.ts';

/** An id in the form of the API. */
export function messageId(): string {
  return `msg_${randomUUID().replaceAll('-', '')}`;
}

/**
 * An answer of the chat API as a message of the Messages API. The blocks of a model of that API are as they were.
 *
 * @param wanted whether the client asked for thinking: unasked, a simple program is not prepared for it
 */
export function messageOf({ model, choices: [choice], usage }: ChatCompletion, wanted: boolean): unknown {
  const { message = { role: 'assistant' }, finish_reason: finish = null, ...more } = choice ?? {};
  return {
    id: messageId(),
    type: 'message',
    role: 'assistant',
    model,
    content: blocksOf(message, wanted),
    ...stopOf(finish, (message.tool_calls ?? []).length > 0, (more as { readonly stop_reason?: unknown }).stop_reason),
    usage: usageOf(usage),
  };
}

function blocksOf(message: WireMessage, wanted: boolean): readonly unknown[] {
  const { tool_calls: calls = [], provider_state: state } = message;
  if (isAnthropicState(state)) return state.content;
  const thinking = wanted ? reasoningOf(message) : '';
  const text = wordsOf(message);
  return [
    ...(thinking === '' ? [] : [{ type: 'thinking', thinking, signature: ownSignature }]),
    ...(text === '' && calls.length > 0 ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, function: { name, arguments: args } }) => ({ type: 'tool_use', id, name, input: inputOf(args) })),
    ...carriedBlocks(state, wanted || calls.length > 0),
  ];
}

/** Returns the provider's state, where the client will continue with this message or expects thinking. */
export function carriedBlocks(state: unknown, expected: boolean): readonly Tagged[] {
  const data = expected && !isAnthropicState(state) ? carried(state) : null;
  return data === null ? [] : [{ type: 'redacted_thinking', data }];
}

/** Returns the reason for which an answer ended, in the words of the API. Pure. */
export function stopOf(
  finish: string | null,
  called: boolean,
  sequence: unknown,
): { readonly stop_reason: string; readonly stop_sequence: string | null } {
  if (finish === 'length') return { stop_reason: 'max_tokens', stop_sequence: null };
  if (finish === 'content_filter') return { stop_reason: 'refusal', stop_sequence: null };
  if (called) return { stop_reason: 'tool_use', stop_sequence: null };
  return typeof sequence === 'string'
    ? { stop_reason: 'stop_sequence', stop_sequence: sequence }
    : { stop_reason: 'end_turn', stop_sequence: null };
}

/** The API counts tokens read from and written to a cache separately from the input. Pure. */
export function usageOf(usage: WireUsage | null | undefined): Readonly<Record<string, number>> {
  const { cached_tokens: cached, cache_write_tokens: written } = (usage?.prompt_tokens_details ?? {}) as Readonly<
    Record<string, number | null | undefined>
  >;
  const input = usage?.prompt_tokens ?? 0;
  return {
    input_tokens: Math.max(0, input - (cached ?? 0) - (written ?? 0)),
    cache_creation_input_tokens: written ?? 0,
    cache_read_input_tokens: cached ?? 0,
    output_tokens: usage?.completion_tokens ?? 0,
  };
}

const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

/** A refusal in the form of the API, with our code beside it. Pure. */
export function messagesRefusal({ status, said }: GatewayError): Tagged {
  return { type: 'error', error: { type: types[status] ?? 'api_error', ...said } };
}
