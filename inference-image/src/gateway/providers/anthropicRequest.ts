import type {
  CacheControlEphemeral,
  ContentBlockParam,
  MessageCreateParamsNonStreaming,
  MessageParam,
  TextBlockParam,
  Tool,
  ToolChoice,
} from '@anthropic-ai/sdk/resources/messages';
import type { WireMessage, WireTool, WireToolCall } from '@agentfleet/protocol/chat';
import { fieldsOf, jsonOf } from '@agentfleet/protocol/text';
import { isAnthropicState } from './anthropicAnswer.ts';
import type { Ask } from './provider.ts';

type Content = WireMessage['content'];
type Turn = { readonly role: 'user' | 'assistant'; readonly content: ContentBlockParam[] };

/** The provider looks up the part of a request before this mark in its cache, and stores it. */
const cached = { cache_control: { type: 'ephemeral' } } as const;
/** Turns of the user that are marked: the newest, and the one before, whose mark the last request wrote. */
const markedTurns = 2;
/** The API takes no smaller budget. */
const leastThinking = 1024;
const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
/** Members that models of the Messages API alone take, and on which no right of the gateway's owner depends. */
const messagesOptions = ['temperature', 'top_p', 'top_k', 'thinking', 'metadata'] as const;

/** A request of the chat API as one of the Messages API. Pure. */
export function anthropicRequest({ body, model }: Pick<Ask, 'body' | 'model'>): MessageCreateParamsNonStreaming {
  const first = body.messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const system = body.messages.slice(0, first === -1 ? undefined : first).flatMap(({ content }) => textsOf(content));
  const turns = turnsOf(first === -1 ? [] : body.messages.slice(first), model.model ?? '');
  // The API takes four marks at most: a client with its own gets none of ours.
  const isMarked = marksItself(body);
  const users = isMarked ? [] : turns.filter(({ role }) => role === 'user').slice(-markedTurns);
  const { stop } = body as { readonly stop?: unknown };
  return {
    model: model.model ?? '',
    max_tokens: body.max_completion_tokens,
    ...(system.length > 0 && { system: isMarked ? system : (marked({ role: 'user', content: system }).content as TextBlockParam[]) }),
    messages: turns.map((turn): MessageParam => (users.includes(turn) ? marked(turn) : turn)),
    ...(body.tools !== undefined && body.tools.length > 0 && { tools: body.tools.map(toolOf), tool_choice: choiceOf(body) }),
    ...(stop !== undefined && { stop_sequences: [stop].flat().map(String) }),
    ...ownOptions(body),
    ...outputOf(body),
  };
}

/** The members of a request that only the Messages API has, and that a client may set. Pure. */
export function messagesOptionsOf(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(messagesOptions.flatMap((name) => (members[name] === undefined ? [] : [[name, members[name]]])));
}

function marksItself({ messages, tools = [] }: Ask['body']): boolean {
  const marked = (value: unknown): boolean => typeof value === 'object' && value !== null && 'cache_control' in value;
  return (
    [...tools, ...messages].some(marked) ||
    messages.some(({ content, tool_calls: calls = [] }) => [...calls, ...(Array.isArray(content) ? content : [])].some(marked))
  );
}

/**
 * Returns a client's options that only the Messages API has. Thinking must fit the token limit, which may be lower than
 * the client's.
 */
function ownOptions({ messages_options: own = {}, max_completion_tokens: most, ...body }: Ask['body']): Record<string, unknown> {
  const { thinking: asked, ...rest } = messagesOptionsOf(own);
  const thinking = (asked ?? (body as { readonly thinking?: unknown }).thinking) as
    { readonly type?: string; readonly budget_tokens?: number } | null | undefined;
  if (typeof thinking !== 'object' || thinking === null) return rest;
  const { type, budget_tokens: budget = 0 } = thinking;
  if (type !== 'enabled' || budget < most) return { ...rest, thinking };
  return most > leastThinking ? { ...rest, thinking: { ...thinking, budget_tokens: most - 1 } } : rest;
}

function marked({ role, content }: Turn): Turn {
  return {
    role,
    content: content.map((block, at) => (at === content.length - 1 ? { ...block, ...cached } : block)),
  };
}

function toolOf({ function: { name, description, parameters }, eager_input_streaming: eager, ...tool }: WireTool): Tool {
  return {
    name,
    ...(description !== undefined && { description }),
    input_schema: { type: 'object', ...parameters },
    ...markOf(tool),
    ...(eager !== undefined && { eager_input_streaming: eager }),
  };
}

function markOf(value: object): { readonly cache_control?: CacheControlEphemeral } {
  const { cache_control: mark } = value as { readonly cache_control?: unknown };
  return typeof mark === 'object' && mark !== null ? { cache_control: mark as CacheControlEphemeral } : {};
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
  const { reasoning_effort: level, reasoning } = body as { readonly reasoning_effort?: unknown; readonly reasoning?: unknown };
  const wanted = level ?? fieldsOf(reasoning)['effort'];
  const effort = efforts.find((each) => each === (wanted === 'minimal' ? 'low' : wanted));
  const schema = type === 'json_schema' ? json?.schema : undefined;
  const own = body.messages_options?.['output_config'];
  if (schema === undefined && effort === undefined && own === undefined) return {};
  return {
    output_config: {
      ...(own as Record<string, unknown> | undefined),
      ...(effort !== undefined && { effort }),
      ...(schema !== undefined && { format: { type: 'json_schema', schema: schema as Record<string, unknown> } }),
    },
  };
}

/** Returns alternating turns of user and assistant; results of tools are in those of the user. */
function turnsOf(messages: readonly WireMessage[], model: string): readonly Turn[] {
  const turns: Turn[] = [];
  const idOf = idsOf(messages, model);
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = role === 'assistant' ? assistantBlocks(message, model, idOf) : userBlocks(message, idOf);
    const last = turns.at(-1);
    if (last?.role === role) for (const block of content) last.content.push(block);
    else if (content.length > 0) turns.push({ role, content: [...content] });
  }
  return turns;
}

function userBlocks(message: WireMessage, idOf: (id: string) => string): readonly ContentBlockParam[] {
  const { role, content, tool_call_id: id, is_error: isError } = message;
  const blocks = blocksOf(content);
  if (role !== 'tool') return blocks.length > 0 ? blocks : [{ type: 'text', text: '(empty)' }];
  const result = { type: 'tool_result', tool_use_id: idOf(id ?? ''), ...markOf(message) } as const;
  return [{ ...result, ...(blocks.length > 0 && { content: [...blocks] }), ...(isError === true && { is_error: true }) }];
}

/** Types of blocks that a model writes. A state comes back through the client, which may have put others into it. */
const saidTypes: ReadonlySet<string> = new Set<ContentBlockParam['type']>(['text', 'thinking', 'redacted_thinking', 'tool_use']);

/**
 * Returns the unchanged blocks of the same model; else text and calls. Blocks of dropped calls are left out, and what the API refuses though
 * models write it: blank texts, and thinking at the end.
 */
function assistantBlocks(message: WireMessage, model: string, idOf: (id: string) => string): readonly ContentBlockParam[] {
  const { content, tool_calls: calls = [], provider_state: state } = message;
  if (isAnthropicState(state) && state.model === model) {
    const kept = new Set(calls.map(({ id }) => id));
    const said = state.content.filter((block) => {
      if (block.type === 'text') return block.text.trim() !== '';
      return saidTypes.has(block.type) && (block.type !== 'tool_use' || kept.has(block.id));
    });
    return said.slice(0, said.findLastIndex(({ type }) => type === 'text' || type === 'tool_use') + 1);
  }
  return [...thoughtsOf(content), ...calls.map((call): ContentBlockParam => ({ ...useOf(call), id: idOf(call.id), ...markOf(call) }))];
}

function useOf({ id, function: { name, arguments: text } }: WireToolCall): ContentBlockParam & { readonly type: 'tool_use' } {
  return { type: 'tool_use', id, name, input: inputOf(text) };
}

/** Returns arguments as an object, as the API requires; a text that is not one is wrapped. */
export function inputOf(text: string): Record<string, unknown> {
  const value = text === '' ? {} : jsonOf(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : { arguments: text };
}

/** Texts, and between them the thinking that a client of the Messages API brings back. */
function thoughtsOf(content: Content): ContentBlockParam[] {
  if (!Array.isArray(content)) return textsOf(content);
  const isThought = ({ type }: { readonly type: string }): boolean => type === 'thinking' || type === 'redacted_thinking';
  return content.flatMap((part): ContentBlockParam[] => (isThought(part) ? [part as ContentBlockParam] : textsOf([part])));
}

function textsOf(content: Content): TextBlockParam[] {
  return blocksOf(content).filter((block): block is TextBlockParam => block.type === 'text');
}

type Block = TextBlockParam | Extract<ContentBlockParam, { type: 'image' | 'document' }>;

function blocksOf(content: Content): Block[] {
  if (content === null || content === undefined) return [];
  if (typeof content === 'string') return content.trim() === '' ? [] : [{ type: 'text', text: content }];
  return content.flatMap((part): Block[] => {
    const { text, image_url: image } = part as { readonly text?: unknown; readonly image_url?: { readonly url?: unknown } };
    if (part.type === 'document') return [part as unknown as Block];
    if (typeof text === 'string') return text.trim() === '' ? [] : [{ type: 'text', text, ...markOf(part) }];
    return typeof image?.url === 'string' ? [{ ...imageOf(image.url), ...markOf(part) }] : [{ type: 'text', text: `[${part.type}]` }];
  });
}

/** @param url a data URL in base64 */
function imageOf(url: string): Block {
  const [head = '', data = ''] = url.split(',', 2);
  const [type = ''] = head.slice('data:'.length).split(';', 1);
  return { type: 'image', source: { type: 'base64', media_type: type as 'image/png', data } };
}

/** Ids in the alphabet of the API; those of other providers have further characters, the model's own stay. Different ids stay different. */
function idsOf(messages: readonly WireMessage[], model: string): (id: string) => string {
  const ofModel = new Set(
    messages.flatMap(({ provider_state: state }) =>
      isAnthropicState(state) && state.model === model ? state.content.map((block) => ('id' in block ? block.id : '')) : [],
    ),
  );
  const known = new Map<string, string>();
  const ids = messages.flatMap(({ tool_calls: calls = [], tool_call_id: id }) => [
    ...calls.map((call) => call.id),
    ...(id === undefined ? [] : [id]),
  ]);
  const taken = new Set<string>();
  for (const id of new Set(ids)) {
    const bare = ofModel.has(id) ? id : id.replaceAll(/[^a-zA-Z0-9_-]/g, '_') || 'call';
    const own = taken.has(bare) ? `${bare}_${taken.size}` : bare;
    taken.add(own);
    known.set(id, own);
  }
  return (id) => known.get(id) ?? id;
}
