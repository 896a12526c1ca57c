import { randomUUID } from 'node:crypto';
import type { ChatCompletion, WireMessage, WireUsage } from '@agentfleet/protocol/chat';
import { isAnthropicState } from '../providers/index.ts';
import type { Tagged } from './api.ts';
import { carried, reasoningOf, wordsOf } from './carried.ts';
import type { ResponsesRequest } from './responsesRequest.ts';
import { customInput, type NamedTool } from './responsesTools.ts';

/** Parts of a request that its answer repeats or needs. */
export interface ResponsesContext {
  readonly request: ResponsesRequest;
  /** By the names for the model. */
  readonly tools: ReadonlyMap<string, NamedTool>;
}

/** An id in the form of the API. */
export function idOf(kind: 'resp' | 'msg' | 'fc' | 'ctc' | 'rs'): string {
  return `${kind}_${randomUUID().replaceAll('-', '')}`;
}

/** Known facts of an answer, at its beginning or its end. */
export interface Known {
  readonly id: string;
  readonly created: number;
  readonly model: string | undefined;
  readonly output: readonly unknown[];
  readonly usage: WireUsage | null;
  /** Reason for which it ended; null: it continues. */
  readonly finish: string | null;
}

/** The object `response`. Pure. */
export function responseObject(
  { request }: ResponsesContext,
  { id, created, model, output, usage, finish }: Known,
): Readonly<Record<string, unknown>> {
  const cut = finish === 'length' ? 'max_output_tokens' : finish === 'content_filter' ? finish : null;
  const { tool_choice: choice, reasoning, text } = request;
  return {
    id,
    object: 'response',
    created_at: created,
    status: finish === null ? 'in_progress' : cut === null ? 'completed' : 'incomplete',
    background: false,
    error: null,
    incomplete_details: cut === null ? null : { reason: cut },
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request['metadata'] ?? {},
    model: model ?? request.model,
    output,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null, ...reasoning },
    store: false,
    temperature: request.temperature ?? null,
    text: { format: { type: 'text' }, ...text },
    tool_choice: choice ?? 'auto',
    tools: request.tools ?? [],
    top_p: request.top_p ?? null,
    truncation: 'disabled',
    usage: usage === null ? null : usageOf(usage),
  };
}

/** A whole answer of the chat API as a response. */
export function responseOf(context: ResponsesContext, created: number, { model, choices: [choice], usage }: ChatCompletion): unknown {
  const { message = { role: 'assistant' }, finish_reason: finish } = choice ?? {};
  const ended = finish ?? 'stop';
  const known = { id: idOf('resp'), created, model, output: outputOf(context, message, ended), usage: usage ?? null, finish: ended };
  return responseObject(context, known);
}

function outputOf(context: ResponsesContext, message: WireMessage, finish: string): readonly Tagged[] {
  const { tool_calls: calls = [], provider_state: state } = message;
  const text = wordsOf(message);
  return [
    ...(text === '' && calls.length > 0 ? [] : [messageItem(idOf('msg'), text, finish === 'length' ? 'incomplete' : 'completed')]),
    ...calls.map(({ id, function: { name, arguments: args } }) => callItem(context, { callId: id, name, args })),
    ...reasoningItems(context, state, thoughtOf(message), calls.length > 0),
  ];
}

function thoughtOf(message: WireMessage): string {
  const { provider_state: state } = message;
  if (!isAnthropicState(state)) return reasoningOf(message);
  return state.content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join('');
}

/** A text as an item. */
export function messageItem(id: string, text: string, status: string): Tagged {
  return { id, type: 'message', role: 'assistant', status, content: [textPart(text)] };
}

/** A text as a part. */
export function textPart(text: string): Tagged {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** A call while it is written. */
export interface Calling {
  readonly callId: string;
  /** The model's name for it. */
  readonly name: string;
  readonly args: string;
}

/** A call as an item of the kind of its tool. `id` and `status` are those of one under way. */
export function callItem({ tools }: ResponsesContext, { callId, name, args }: Calling, id?: string, status = 'completed'): Tagged {
  const { type, name: own, namespace } = tools.get(name) ?? { type: 'function' as const, name, namespace: undefined };
  const common = { call_id: callId, name: own, ...(namespace !== undefined && { namespace }) };
  if (type === 'custom')
    return { id: id ?? idOf('ctc'), type: 'custom_tool_call', status, ...common, input: args === '' ? '' : customInput(args) };
  return { id: id ?? idOf('fc'), type: 'function_call', status, ...common, arguments: args };
}

/** Returns the provider's state, where the client will continue with this answer or requested it. */
export function reasoningItems({ request }: ResponsesContext, state: unknown, thought: string, called: boolean): readonly Tagged[] {
  const wanted = called || (request.include ?? []).includes('reasoning.encrypted_content');
  const text = wanted ? carried(state) : null;
  if (text === null) return [];
  const summary = thought === '' ? [] : [{ type: 'summary_text', text: thought }];
  return [{ id: idOf('rs'), type: 'reasoning', summary, encrypted_content: text }];
}

function usageOf(usage: WireUsage): unknown {
  const { reasoning_tokens: reasoning } = ((usage as { readonly completion_tokens_details?: unknown }).completion_tokens_details ?? {}) as {
    readonly reasoning_tokens?: number | null;
  };
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: { cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0 },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: usage.prompt_tokens + usage.completion_tokens,
  };
}
