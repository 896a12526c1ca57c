import { Ajv } from 'ajv';
import { Type, type Static } from 'typebox';
import type { ChatRequest, WireMessage, WireToolCall } from '@agentfleet/protocol/chat';
import { isBytes, messagesOptionsOf } from '../providers/index.ts';
import { refused } from './api.ts';
import { ownSignature, uncarried } from './carried.ts';
import { chatRequest, fitting } from './chat.ts';
import { documentOf, markOf, type Part } from './parts.ts';

const open = { additionalProperties: true } as const;
const Block = Type.Object({ type: Type.String({ maxLength: 64 }) }, open);
type Block = Static<typeof Block> & Readonly<Record<string, unknown>>;
const Content = Type.Union([Type.String(), Type.Array(Block)]);
const Tool = Type.Object({ name: Type.String(), type: Type.Optional(Type.Union([Type.String(), Type.Null()])) }, open);

/** Body of `POST /v1/messages`, as far as it is read. */
const MessagesRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 256 }),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
    system: Type.Optional(Content),
    messages: Type.Array(Type.Object({ role: Type.Enum(['user', 'assistant', 'system']), content: Content }, open), { minItems: 1 }),
    tools: Type.Optional(Type.Array(Tool)),
    tool_choice: Type.Optional(Type.Object({ type: Type.Enum(['auto', 'any', 'tool', 'none']) }, open)),
    stop_sequences: Type.Optional(Type.Array(Type.String())),
    stream: Type.Optional(Type.Boolean()),
  },
  open,
);
type MessagesRequest = Static<typeof MessagesRequest> & Readonly<Record<string, unknown>>;

const validate = new Ajv({ strict: false }).compile<MessagesRequest>(MessagesRequest);

/** A body of the Messages API. @throws GatewayError InvalidRequest */
export function messagesRequest(body: unknown): MessagesRequest {
  return fitting(body, validate);
}

/** Members by which the vendor would act on its own: nothing here would bound or gate its acts. */
const refusedMembers = ['mcp_servers', 'container'] as const;
/** Tools that the vendor runs: a model without them answers with its other tools. */
const vendorTools = /^(?:web_search|web_fetch|code_execution|tool_search)_/;

/**
 * Converts a request of the Messages API to one of the chat API. @throws GatewayError InvalidRequest for demands that
 * no provider could meet
 */
export function chatOfMessages(body: MessagesRequest): ChatRequest {
  for (const member of refusedMembers)
    if (body[member] !== undefined && body[member] !== null)
      throw refused(member, 'not served: the model would act outside the sandbox; leave it out');
  const { model, max_tokens: most, system, messages, tools, tool_choice: choice, stop_sequences: stop, stream } = body;
  const offered = tools?.flatMap((tool, at) => toolOf(tool, `tools.${at}`));
  return chatRequest({
    model,
    messages: [
      ...(system === undefined || system.length === 0 ? [] : [{ role: 'system', content: contentOf(partsOf(system, 'system')) }]),
      ...messages.flatMap(({ role, content }, at) => wireOf(role, blocksOf(content), `messages.${at}.content`)),
    ],
    ...(most !== undefined && { max_completion_tokens: most }),
    ...(offered !== undefined && offered.length > 0 && { tools: offered, ...choiceOf(choice) }),
    ...(stop !== undefined && stop.length > 0 && { stop }),
    ...(stream !== undefined && { stream }),
    ...sampling(body),
    ...formatOf(body),
  });
}

function sampling(body: MessagesRequest): Partial<ChatRequest> {
  const { temperature, top_p: topP, output_config: output } = body;
  const own = messagesOptionsOf(body);
  const { effort } = (output ?? {}) as { readonly effort?: unknown };
  const options = { ...own, ...(effort !== undefined && { output_config: { effort } }) };
  return {
    ...(temperature !== undefined && { temperature: temperature as number }),
    ...(topP !== undefined && { top_p: topP }),
    ...(Object.keys(options).length > 0 && { messages_options: options }),
  };
}

function formatOf({ output_config: output, output_format: older }: MessagesRequest): Partial<ChatRequest> {
  const { format = older } = (output ?? {}) as { readonly format?: unknown };
  const { type, schema } = (format ?? {}) as { readonly type?: unknown; readonly schema?: unknown };
  return type === 'json_schema' ? { response_format: { type, json_schema: { name: 'answer', schema, strict: true } } } : {};
}

function toolOf(tool: Static<typeof Tool> & Readonly<Record<string, unknown>>, at: string): readonly unknown[] {
  const { type, name, description, input_schema: parameters, cache_control: mark, eager_input_streaming: eager } = tool;
  if (typeof type === 'string' && vendorTools.test(type)) return [];
  if (typeof type === 'string' && type !== 'custom')
    throw refused(at, `the tool ${name} is of the vendor's type ${type}: give it as a tool with an input_schema of its own`);
  return [
    {
      type: 'function',
      function: { name, ...(description !== undefined && { description }), ...(parameters !== undefined && { parameters }) },
      ...(mark !== undefined && { cache_control: mark }),
      ...(typeof eager === 'boolean' && { eager_input_streaming: eager }),
    },
  ];
}

function choiceOf(choice: MessagesRequest['tool_choice']): Partial<ChatRequest> {
  const { type, name, disable_parallel_tool_use: single } = (choice ?? {}) as Readonly<Record<string, unknown>>;
  const names = { auto: 'auto', any: 'required', none: 'none', tool: { type: 'function', function: { name } } } as const;
  return {
    ...(choice !== undefined && { tool_choice: names[type as keyof typeof names] }),
    ...(single === true && { parallel_tool_calls: false }),
  };
}

function blocksOf(content: string | readonly Block[]): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function wireOf(role: 'user' | 'assistant' | 'system', blocks: readonly Block[], at: string): readonly WireMessage[] {
  if (role === 'assistant') return [assistantOf(blocks, at)];
  const results = blocks.flatMap((block, n) => (block.type === 'tool_result' ? [resultOf(block, `${at}.${n}`)] : []));
  const rest = blocks.flatMap((block, n) => (block.type === 'tool_result' ? [] : [partOf(block, `${at}.${n}`)]));
  // Results follow their calls directly, as the chat API requires; the user's text comes after them.
  return rest.length === 0 && results.length > 0 ? results : [...results, { role, content: contentOf(rest) }];
}

function resultOf(block: Block, at: string): WireMessage {
  const { tool_use_id: id, content = '', is_error: isError } = block;
  const parts = partsOf(content as string | readonly Block[], `${at}.content`);
  return {
    role: 'tool',
    tool_call_id: String(id),
    content: contentOf(parts),
    ...(isError === true && { is_error: true }),
    ...markOf(block),
  };
}

function assistantOf(blocks: readonly Block[], at: string): WireMessage {
  const parts: Part[] = [];
  const calls: WireToolCall[] = [];
  let state: unknown;
  for (const [n, block] of blocks.entries()) {
    const carried = block.type === 'redacted_thinking' ? uncarried(block['data']) : undefined;
    if (carried !== undefined) state = carried;
    else if (block.type === 'tool_use') calls.push(callOf(block));
    else if (block.type === 'redacted_thinking') parts.push(block);
    else if (block.type !== 'thinking') parts.push(partOf(block, `${at}.${n}`));
    else if (block['signature'] !== ownSignature) parts.push(block);
  }
  const content = contentOf(parts, '');
  return {
    role: 'assistant',
    content: content === '' ? null : content,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(state !== undefined && { provider_state: state }),
  };
}

function callOf(block: Block): WireToolCall {
  const { id, name, input } = block;
  const text = JSON.stringify(input ?? {});
  return { id: String(id), type: 'function', function: { name: String(name), arguments: text }, ...markOf(block) };
}

function partsOf(content: string | readonly Block[], at: string): readonly Part[] {
  return blocksOf(content).map((block, n) => partOf(block, typeof content === 'string' ? at : `${at}.${n}`));
}

function partOf(block: Block, at: string): Part {
  if (block.type === 'text' && typeof block['text'] === 'string') return { type: 'text', text: block['text'], ...markOf(block) };
  if (block.type === 'image') return { type: 'image_url', image_url: { url: imageOf(block, at) }, ...markOf(block) };
  if (block.type === 'document') return documentOf(block, at);
  // Every tool is offered from the beginning on: a search for one has nothing to load.
  if (block.type === 'tool_reference') return { type: 'text', text: `The tool ${String(block['tool_name'])} can be called.` };
  throw refused(at, `a block of type ${block.type} is not served here: send text, an image or a document`);
}

function imageOf({ source }: Block, at: string): string {
  const { type, media_type: media, data } = (source ?? {}) as Readonly<Record<string, unknown>>;
  if (type === 'base64' && typeof media === 'string' && isBytes(data)) return `data:${media};base64,${data}`;
  throw refused(`${at}.source`, 'nothing is fetched, and files of the vendor are not kept: send an image by its bytes (base64)');
}

/** Returns plain text where that suffices: not every server of the chat API accepts parts. */
function contentOf(parts: readonly Part[], between = '\n\n'): NonNullable<WireMessage['content']> {
  const isPlain = parts.every((part) => part.type === 'text' && !('cache_control' in part));
  return isPlain ? parts.map(({ text }) => String(text)).join(between) : [...parts];
}
