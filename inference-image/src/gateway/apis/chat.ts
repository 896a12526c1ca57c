import { randomUUID } from 'node:crypto';
import { Ajv } from 'ajv';
import { chatRoutes, ChatRequest } from '@agentfleet/protocol/chat';
import { GatewayError } from '../providers/gatewayError.ts';
import { spare, type Chunk, type Delta } from '../providers/index.ts';
import { refused, type ClientApi, type EventWriter } from './api.ts';
import { selfContained } from './parts.ts';

const ajv = new Ajv({ strict: false });
const validate = ajv.compile<ChatRequest>(ChatRequest);

/** A body that fits a schema. @throws GatewayError InvalidRequest that names the member */
export function fitting<T>(body: unknown, fits: { (value: unknown): value is T; errors?: typeof validate.errors }): T {
  if (fits(body)) return body;
  const [error] = fits.errors ?? [];
  const field = error?.instancePath.slice(1).replaceAll('/', '.') || 'the body';
  throw new GatewayError('InvalidRequest', `${field}: ${error?.message ?? 'it does not fit the schema'}`);
}

/** A request as every provider takes it, which names nothing outside of it. @throws GatewayError InvalidRequest */
export function chatRequest(body: unknown): ChatRequest {
  return selfContained(fitting(body, validate));
}

/** A null of a client is an absent member, except as content of a message: the vendor's library writes it for what is not set. */
function withoutNulls(body: unknown): unknown {
  if (!isObject(body)) return body;
  const { messages, ...rest } = body;
  return present({ ...rest, messages: Array.isArray(messages) ? messages.map(messageWithoutNulls) : messages });
}

function messageWithoutNulls(message: unknown): unknown {
  return isObject(message) ? { ...present(message), ...('content' in message && { content: message['content'] }) } : message;
}

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);

const present = (members: Members): Members => Object.fromEntries(Object.entries(members).filter(([, member]) => member !== null));

/**
 * Members that go on to servers: those that programs set, and that shape the answer alone. By others servers and brokers take another
 * model or price, or act outside by themselves (search, fetch); the pool decides these, and the walls of a sandbox end at the gateway.
 */
const members: ReadonlySet<string> = new Set([
  ...spare,
  ...`model messages n stream max_completion_tokens stop stop_token_ids min_tokens ignore_eos tools tool_choice functions function_call`.split(
    ' ',
  ),
  ...`do_sample logit_bias response_format structured_outputs guided_json guided_regex guided_choice guided_grammar`.split(' '),
  ...`chat_template_kwargs add_generation_prompt continue_final_message skip_special_tokens include_stop_str_in_output`.split(' '),
]);
/** Members by which a provider would search, fetch or run: a program that needs one learns that it is without it. */
const refusedMembers = ['search_parameters', 'enable_search', 'search_options', 'data_sources', 'mcp_servers', 'container'] as const;

/** @throws GatewayError InvalidRequest */
function withoutActs(body: Members): void {
  const asked = refusedMembers.find((member) => (body[member] ?? false) !== false);
  if (asked !== undefined) throw refused(asked, 'not served: the provider would act outside the sandbox; leave it out');
}

/** The OpenAI chat API, which is also the form of requests to providers. */
export const chatApi: ClientApi = {
  path: chatRoutes.completions,
  read(body) {
    const { max_tokens: older, stream_options: streaming, ...rest } = chatRequest(withoutNulls(body));
    withoutActs(rest);
    // Content that `chatOfMessages` has checked goes by `messages_options`; that of a client is unchecked, and is dropped too.
    const allowed = Object.fromEntries(Object.entries(rest).filter(([name]) => members.has(name))) as typeof rest;
    const chat = { ...(older !== undefined && { max_completion_tokens: older }), ...allowed };
    const created = Math.floor(Date.now() / 1000);
    return {
      chat,
      answer: (completion) => ({ id: `chatcmpl-${randomUUID()}`, ...completion, object: 'chat.completion', created }),
      events: () => new ChatEvents(created, streaming?.include_usage === true),
    };
  },
  refusal: ({ body }) => body,
};

/** Chunks as strict clients of the API read them: none is without a choice, except that of the usage where it was asked for. */
class ChatEvents implements EventWriter {
  readonly #created: number;
  readonly #wantsUsage: boolean;

  /** @param created seconds since 1970 */
  constructor(created: number, wantsUsage: boolean) {
    this.#created = created;
    this.#wantsUsage = wantsUsage;
  }

  *chunk(chunk: Chunk): Iterable<string> {
    const choices = chunk.choices.filter(({ delta }) => !('thinking' in (delta as Delta)));
    if (choices.length === 0 && (chunk.choices.length > 0 || !this.#wantsUsage)) return;
    yield event({ ...chunk, choices, object: 'chat.completion.chunk', created: this.#created } satisfies Chunk);
  }

  *end(): Iterable<string> {
    yield 'data: [DONE]\n\n';
  }

  *fail({ body }: GatewayError): Iterable<string> {
    yield event(body);
  }
}

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
