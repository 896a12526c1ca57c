import type { ContentBlock, ContentBlockParam, Message, StopReason, Usage } from '@anthropic-ai/sdk/resources/messages';
import { fieldsOf } from '@agentfleet/protocol/text';
import type { ChatCompletion, WireMessage, WireUsage } from '@agentfleet/protocol/chat';

/** A message of the Messages API as an answer of the chat API; its blocks go with it. Pure. */
export function anthropicAnswer(answer: Message, model: string): ChatCompletion {
  const { id, content, stop_reason: reason, stop_sequence: sequence, usage } = answer;
  const reported = usageOfMessage(usage);
  const ended = { finish_reason: finishOf(reason), ...stopOf(reason, sequence) };
  return {
    id,
    model,
    choices: [{ index: 0, message: messageOf(content, model), ...ended, logprobs: null }],
    ...(reported !== null && { usage: reported }),
  };
}

/** Returns the input of a call as text, which some servers give it as. Pure. */
export const argumentsOf = (input: unknown): string => (typeof input === 'string' ? input : JSON.stringify(input ?? {}));

function messageOf(content: readonly ContentBlock[], model: string): WireMessage {
  const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
  const calls = content.flatMap((block) =>
    block.type === 'tool_use'
      ? [{ id: block.id, type: 'function' as const, function: { name: block.name, arguments: argumentsOf(block.input) } }]
      : [],
  );
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(calls.length > 0 && { tool_calls: calls }),
    provider_state: anthropicState(content, model),
  };
}

/** Returns the model's state for its message. */
export function anthropicState(content: readonly ContentBlock[], model: string): AnthropicState {
  return { engine: 'Anthropic', model, content };
}

/** Returns the reason for which an answer ended, in the words of the chat API. Pure. */
export function finishOf(reason: StopReason | null): string {
  if (reason === 'tool_use') return 'tool_calls';
  if (reason === 'max_tokens' || reason === 'model_context_window_exceeded') return 'length';
  return reason === 'refusal' ? 'content_filter' : 'stop';
}

/** The sequence that ended an answer, as `stop_reason` of a choice, where servers of the chat API report it too. Pure. */
export function stopOf(reason: StopReason | null, sequence: string | null): { readonly stop_reason?: string } {
  return reason === 'stop_sequence' && typeof sequence === 'string' ? { stop_reason: sequence } : {};
}

type Counts = Pick<Usage, 'input_tokens' | 'output_tokens'> &
  Partial<Pick<Usage, 'cache_creation_input_tokens' | 'cache_read_input_tokens'>>;

/** The API counts tokens read from and written to its cache separately from the input. Null: it reports nothing. Pure. */
export function usageOfMessage(usage: Counts | null | undefined): WireUsage | null {
  if (typeof usage?.input_tokens !== 'number' || typeof usage.output_tokens !== 'number') return null;
  const { input_tokens: fresh, output_tokens: output, cache_creation_input_tokens: written, cache_read_input_tokens: read } = usage;
  const prompt = fresh + (written ?? 0) + (read ?? 0);
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: read ?? 0, ...(typeof written === 'number' && { cache_write_tokens: written }) },
  };
}

/** The blocks of a message of the Messages API: signed thinking among them, which the API takes back unchanged only. */
interface AnthropicState {
  readonly engine: 'Anthropic';
  readonly model: string;
  readonly content: readonly ContentBlockParam[];
}

/** A state comes back through the client, and a server may have written a text that is none. */
function isSound(block: unknown): boolean {
  const { type, text } = fieldsOf(block);
  return typeof type === 'string' && (type !== 'text' || typeof text === 'string');
}

/** Reports whether a message carries a state of this engine. */
export function isAnthropicState(state: unknown): state is AnthropicState {
  if (typeof state !== 'object' || state === null) return false;
  const { engine, content } = state as Partial<AnthropicState>;
  return engine === 'Anthropic' && Array.isArray(content) && content.every(isSound);
}
