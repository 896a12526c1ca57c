import { Ajv } from 'ajv';
import { Type, type Static, type TSchema, type TOptional, type TUnion, type TNull } from 'typebox';
import type { ChatRequest, WireMessage, WireToolCall } from '@agentfleet/protocol/chat';
import { refused } from './api.ts';
import { uncarried } from './carried.ts';
import { chatRequest, fitting } from './chat.ts';
import { inlineUrl } from './parts.ts';
import { choiceOf, customArguments, ResponsesTool, toolsOf, wireName, type NamedTool } from './responsesTools.ts';

const open = { additionalProperties: true } as const;
const maybe = <T extends TSchema>(type: T): TOptional<TUnion<[T, TNull]>> => Type.Optional(Type.Union([type, Type.Null()]));

/** Body of `POST /v1/responses`, as far as it is read. */
const ResponsesRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 256 }),
    input: Type.Union([
      Type.String({ minLength: 1 }),
      Type.Array(Type.Object({ type: Type.Optional(Type.String()) }, open), { minItems: 1 }),
    ]),
    instructions: maybe(Type.String()),
    tools: maybe(Type.Array(ResponsesTool)),
    parallel_tool_calls: maybe(Type.Boolean()),
    max_output_tokens: maybe(Type.Integer({ minimum: 1 })),
    temperature: maybe(Type.Number()),
    top_p: maybe(Type.Number()),
    stream: maybe(Type.Boolean()),
    include: maybe(Type.Array(Type.String())),
    reasoning: maybe(Type.Record(Type.String(), Type.Unknown())),
    text: maybe(Type.Record(Type.String(), Type.Unknown())),
  },
  open,
);
export type ResponsesRequest = Static<typeof ResponsesRequest> & Readonly<Record<string, unknown>>;

const validate = new Ajv({ strict: false }).compile<ResponsesRequest>(ResponsesRequest);

/** Members that need a memory of the gateway, which has none: two replicas answer the requests of one program. */
const refusedMembers: Readonly<Record<string, string>> = {
  previous_response_id: 'no answer is kept: send the whole conversation as input, with store: false',
  conversation: 'no conversation is kept: send the whole of it as input, with store: false',
  prompt: 'no prompts are kept: send its text as instructions',
};

/** A body of the Responses API. @throws GatewayError InvalidRequest */
export function responsesRequest(body: unknown): ResponsesRequest {
  const request = fitting(body, validate);
  for (const [member, why] of Object.entries(refusedMembers))
    if (request[member] !== undefined && request[member] !== null) throw refused(member, why);
  if (request['background'] === true) throw refused('background', 'nothing is answered later: leave it out, and stream');
  return request;
}

/** A request of the Responses API as one of the chat API, and its tools by the names for the model. @throws GatewayError InvalidRequest */
export function chatOfResponses(body: ResponsesRequest): { readonly chat: ChatRequest; readonly tools: ReadonlyMap<string, NamedTool> } {
  const { model, instructions, max_output_tokens: most, parallel_tool_calls: parallel, temperature, top_p: topP, stream, reasoning } = body;
  const tools = toolsOf(body.tools ?? []);
  const own: WireMessage[] = typeof instructions === 'string' && instructions !== '' ? [{ role: 'system', content: instructions }] : [];
  const effort = (reasoning ?? {})['effort'];
  const chat = chatRequest({
    model,
    messages: leading([...own, ...messagesOf(body.input)]),
    ...choiceOf(body['tool_choice'], tools),
    ...(tools.length > 0 && parallel === false && { parallel_tool_calls: false }),
    ...(typeof most === 'number' && { max_completion_tokens: most }),
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof topP === 'number' && { top_p: topP }),
    ...(typeof effort === 'string' && { reasoning_effort: effort }),
    ...(stream === true && { stream }),
    ...formatOf(body),
  });
  return { chat, tools: new Map(tools.map(({ wire: _wire, ...tool }) => [wireName(tool.name, tool.namespace), tool])) };
}

/** Not every model accepts more than one system message: those at the beginning are merged. */
function leading(messages: readonly WireMessage[]): readonly WireMessage[] {
  const first = messages.findIndex(({ role, content }) => role !== 'system' || typeof content !== 'string');
  const system = messages.slice(0, first === -1 ? undefined : first);
  if (system.length < 2) return messages;
  return [
    { role: 'system', content: system.map(({ content }) => (typeof content === 'string' ? content : '')).join('\n\n') },
    ...messages.slice(system.length),
  ];
}

function formatOf({ text }: ResponsesRequest): Partial<ChatRequest> {
  const { type, ...format } = ((text ?? {})['format'] ?? {}) as Readonly<Record<string, unknown>>;
  if (type === 'json_object') return { response_format: { type } };
  return type === 'json_schema' ? { response_format: { type, json_schema: format } } : {};
}

type Item = Readonly<Record<string, unknown>>;
type Said = WireMessage & { readonly role: 'assistant' };

/** Items as messages. Those of one turn of the model (reasoning, text, calls) are one message. */
function messagesOf(input: ResponsesRequest['input']): readonly WireMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  const messages: WireMessage[] = [];
  for (const [at, item] of (input as readonly Item[]).entries()) {
    const message = messageOf(item, `input.${at}`);
    const last = messages.at(-1);
    if (message?.role === 'assistant' && last?.role === 'assistant' && isOneTurn(last, message))
      messages.splice(-1, 1, joined(last as Said, message as Said));
    else if (message !== null) messages.push(message);
  }
  // Reasoning alone, whose text or calls were dropped.
  return messages.filter(({ role, content, tool_calls: calls }) => role !== 'assistant' || content !== null || calls !== undefined);
}

/** A second text begins a new message, unless calls wait for their results. */
function isOneTurn(last: WireMessage, next: WireMessage): boolean {
  return last.content === null || next.content === null || last.tool_calls !== undefined;
}

function joined(last: Said, next: Said): Said {
  const texts = [last.content, next.content].filter((content) => content !== null && content !== undefined);
  const calls = [...(last.tool_calls ?? []), ...(next.tool_calls ?? [])];
  const state = next.provider_state ?? last.provider_state;
  return {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.map(String).join('\n\n'),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(state !== undefined && { provider_state: state }),
  };
}

/** Null: an item for another provider, which is dropped. */
function messageOf(item: Item, at: string): WireMessage | null {
  const { type = 'message', call_id: id, output } = item;
  if (type === 'message') return saidOf(item, at);
  if (type === 'function_call' || type === 'custom_tool_call') return { role: 'assistant', content: null, tool_calls: [callOf(item)] };
  if (type === 'function_call_output' || type === 'custom_tool_call_output')
    return { role: 'tool', tool_call_id: String(id), content: contentOf(output, `${at}.output`) };
  if (type === 'reasoning') {
    const state = uncarried(item['encrypted_content']);
    return state === undefined ? null : { role: 'assistant', content: null, provider_state: state };
  }
  throw refused(at, `an item of type ${String(type)} is not served: send messages, calls of functions and custom tools, and their outputs`);
}

function callOf({ type, call_id: id, name, namespace, arguments: args, input }: Item): WireToolCall {
  const text = type === 'custom_tool_call' ? customArguments(input) : typeof args === 'string' ? args : '';
  return { id: String(id), type: 'function', function: { name: wireName(String(name), namespace), arguments: text } };
}

const roles = { user: 'user', assistant: 'assistant', system: 'system', developer: 'system' } as const;

function saidOf({ role, content }: Item, at: string): WireMessage {
  if (typeof role !== 'string' || !Object.hasOwn(roles, role)) throw refused(`${at}.role`, 'it is user, assistant, system or developer');
  const own = roles[role as keyof typeof roles];
  const said = contentOf(content, `${at}.content`, own === 'assistant' ? '' : '\n\n');
  return { role: own, content: own === 'assistant' && said === '' ? null : said };
}

/** Returns parts as one text where that suffices: not every server of the chat API accepts parts. */
function contentOf(content: unknown, at: string, between = '\n\n'): NonNullable<WireMessage['content']> {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw refused(at, 'it is a text or a list of parts');
  const parts = content.map((part: unknown, n) => partOf((part ?? {}) as Item, `${at}.${n}`));
  if (parts.some(({ type }) => type !== 'text')) return parts;
  return parts.map((part) => ('text' in part ? part.text : '')).join(between);
}

type Part = { readonly type: 'text'; readonly text: string } | { readonly type: 'image_url'; readonly image_url: object };

function partOf({ type, text, refusal, image_url: url, detail }: Item, at: string): Part {
  if ((type === 'input_text' || type === 'output_text' || type === 'text') && typeof text === 'string') return { type: 'text', text };
  if (type === 'refusal' && typeof refusal === 'string') return { type: 'text', text: refusal };
  if (type === 'input_image' && typeof url === 'string')
    return { type: 'image_url', image_url: { url: inlineUrl(url, `${at}.image_url`), ...(typeof detail === 'string' && { detail }) } };
  throw refused(at, `a part of type ${String(type)} is not served: send a text, or an image by its bytes as image_url`);
}
