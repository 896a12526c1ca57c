import type {
  ContentBlockParam,
  MessageCreateParamsNonStreaming,
  MessageParam,
  TextBlockParam,
  Tool,
  ToolChoice,
} from '@anthropic-ai/sdk/resources/messages';
import type { WireMessage, WireTool, WireToolCall } from '@agentfleet/protocol/chat';
import { isAnthropicState } from './anthropicState.ts';
import type { Ask } from './provider.ts';

type Content = WireMessage['content'];
type Turn = { readonly role: 'user' | 'assistant'; readonly content: ContentBlockParam[] };

/** What is before it in a request is looked up in, and written to, the provider's cache. */
const cached = { cache_control: { type: 'ephemeral' } } as const;
/** Turns of the user that are marked: the newest, and the one before, whose mark the last request wrote. */
const markedTurns = 2;
const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const;

/** A request of the chat API as one of the Messages API. Pure. */
export function anthropicRequest({ body, model }: Pick<Ask, 'body' | 'model'>): MessageCreateParamsNonStreaming {
  const first = body.messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const system = body.messages.slice(0, first === -1 ? undefined : first).flatMap(({ content }) => textsOf(content));
  const turns = turnsOf(first === -1 ? [] : body.messages.slice(first), model.model ?? '');
  const users = turns.filter(({ role }) => role === 'user').slice(-markedTurns);
  const { thinking, stop } = body as { readonly thinking?: unknown; readonly stop?: unknown };
  return {
    model: model.model ?? '',
    max_tokens: body.max_completion_tokens,
    ...(system.length > 0 && { system: system.map((block, at) => (at === system.length - 1 ? { ...block, ...cached } : block)) }),
    messages: turns.map((turn): MessageParam => (users.includes(turn) ? marked(turn) : turn)),
    ...(body.tools !== undefined && body.tools.length > 0 && { tools: body.tools.map(toolOf), tool_choice: choiceOf(body) }),
    ...(stop !== undefined && { stop_sequences: [stop].flat().map(String) }),
    ...(typeof thinking === 'object' && thinking !== null && { thinking: thinking as { type: 'adaptive' } }),
    ...outputOf(body),
  };
}

function marked({ role, content }: Turn): Turn {
  return {
    role,
    content: content.map((block, at) => (at === content.length - 1 ? { ...block, ...cached } : block)),
  };
}

function toolOf({ function: { name, description, parameters } }: WireTool): Tool {
  return { name, ...(description !== undefined && { description }), input_schema: { type: 'object', ...parameters } };
}

function choiceOf({ tool_choice: choice, ...body }: Ask['body']): ToolChoice {
  const single = body['parallel_tool_calls' as keyof typeof body] === (false as unknown) ? { disable_parallel_tool_use: true } : {};
  if (choice === 'none') return { type: 'none' };
  if (choice === 'required') return { type: 'any', ...single };
  const name = (choice as { readonly function?: { readonly name?: unknown } } | null | undefined)?.function?.name;
  return typeof name === 'string' ? { type: 'tool', name, ...single } : { type: 'auto', ...single };
}

function outputOf({ response_format: format, ...body }: Ask['body']): Pick<MessageCreateParamsNonStreaming, 'output_config'> {
  const { type, json_schema: json } = (format ?? {}) as { readonly type?: unknown; readonly json_schema?: { readonly schema?: unknown } };
  const wanted = (body as { readonly reasoning_effort?: unknown }).reasoning_effort;
  const effort = efforts.find((each) => each === wanted);
  const schema = type === 'json_schema' ? json?.schema : undefined;
  if (schema === undefined && effort === undefined) return {};
  return {
    output_config: {
      ...(effort !== undefined && { effort }),
      ...(schema !== undefined && { format: { type: 'json_schema', schema: schema as Record<string, unknown> } }),
    },
  };
}

/** Turns of user and assistant by turns; results of tools stand in those of the user. */
function turnsOf(messages: readonly WireMessage[], model: string): readonly Turn[] {
  const turns: Turn[] = [];
  const idOf = idsOf(messages);
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = role === 'assistant' ? assistantBlocks(message, model, idOf) : userBlocks(message, idOf);
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) turns.push({ role, content: [...content] });
  }
  return turns;
}

function userBlocks({ role, content, tool_call_id: id }: WireMessage, idOf: (id: string) => string): readonly ContentBlockParam[] {
  const blocks = blocksOf(content);
  if (role !== 'tool') return blocks.length > 0 ? blocks : [{ type: 'text', text: '(empty)' }];
  return [{ type: 'tool_result', tool_use_id: idOf(id ?? ''), ...(blocks.length > 0 && { content: [...blocks] }) }];
}

/** The blocks that the same model gave, as they were; else text and calls. Blocks of calls that were dropped since are left out. */
function assistantBlocks(message: WireMessage, model: string, idOf: (id: string) => string): readonly ContentBlockParam[] {
  const { content, tool_calls: calls = [], provider_state: state } = message;
  if (isAnthropicState(state) && state.model === model) {
    const kept = new Set(calls.map(({ id }) => id));
    return state.content.filter((block) => block.type !== 'tool_use' || kept.has(block.id));
  }
  return [...textsOf(content), ...calls.map((call): ContentBlockParam => ({ ...useOf(call), id: idOf(call.id) }))];
}

function useOf({ id, function: { name, arguments: text } }: WireToolCall): ContentBlockParam & { readonly type: 'tool_use' } {
  return { type: 'tool_use', id, name, input: inputOf(text) };
}

/** Arguments as the API wants them, an object; a text that is none stands in one. */
export function inputOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // What the model wrote is no JSON: it reads so in its conversation.
  }
  return { arguments: text };
}

function textsOf(content: Content): TextBlockParam[] {
  return blocksOf(content).filter((block): block is TextBlockParam => block.type === 'text');
}

type Block = TextBlockParam | Extract<ContentBlockParam, { type: 'image' }>;

function blocksOf(content: Content): Block[] {
  if (content === null || content === undefined) return [];
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return content.flatMap((part): Block[] => {
    const { text, image_url: image } = part as { readonly text?: unknown; readonly image_url?: { readonly url?: unknown } };
    if (typeof text === 'string') return text === '' ? [] : [{ type: 'text', text }];
    return typeof image?.url === 'string' ? [imageOf(image.url)] : [{ type: 'text', text: `[${part.type}]` }];
  });
}

function imageOf(url: string): Block {
  const [, type, data] = /^data:(image\/[a-z]+);base64,(.*)$/s.exec(url) ?? [];
  if (type === undefined || data === undefined) return { type: 'image', source: { type: 'url', url } };
  return { type: 'image', source: { type: 'base64', media_type: type as 'image/png', data } };
}

/** Ids in the alphabet of the API; those of other providers have further characters. Different ids stay different. */
function idsOf(messages: readonly WireMessage[]): (id: string) => string {
  const known = new Map<string, string>();
  const ids = messages.flatMap(({ tool_calls: calls = [], tool_call_id: id }) => [
    ...calls.map((call) => call.id),
    ...(id === undefined ? [] : [id]),
  ]);
  const taken = new Set<string>();
  for (const id of new Set(ids)) {
    const bare = id.replaceAll(/[^a-zA-Z0-9_-]/g, '_') || 'call';
    const own = taken.has(bare) ? `${bare}_${taken.size}` : bare;
    taken.add(own);
    known.set(id, own);
  }
  return (id) => known.get(id) ?? id;
}
