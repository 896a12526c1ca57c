import { randomUUID } from 'node:crypto';
import { Ajv } from 'ajv';
import { ChatCompletion, type WireToolCall, type WireMessage, type WireUsage } from '@agentfleet/protocol/chat';
import { malformed, reportedFailure } from './failure.ts';
import { chunkOfChoice } from './chunks.ts';
import type { Ask, Chunk, Provider } from './provider.ts';
import { APIError, BadRequestError, OpenAI } from 'openai';
import type { ChatCompletionCreateParamsNonStreaming, ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions';
import { isText, nextOrder, ordered, type Order } from './roles.ts';
import { keepState, restoreState } from './state.ts';

const ajv = new Ajv({ strict: false });
const validate = ajv.compile<ChatCompletion>(ChatCompletion);
const isLogprobs = ajv.compile(ChatCompletion.properties.choices.items.properties.logprobs);

type Loose = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Loose => typeof value === 'object' && value !== null;

/**
 * Returns an answer of a server of the OpenAI API, normalized for omissions and deviations of servers.
 * @throws GatewayError of the error that it holds; ProviderMalformed when it is no chat completion
 */
function completionOf(answer: unknown, ask: Ask): ChatCompletion {
  if (typeof answer === 'string' || answer === null || answer === undefined)
    throw malformed(ask, 'not with JSON (its content type is another one, or it is empty)', false);
  const { id, model, choices, usage: reported, ...rest } = answer as Loose;
  const usage = tidyUsage(reported);
  const given: readonly unknown[] = Array.isArray(choices) ? choices : [];
  const whole = given.filter((choice) => failureOf(choice) === null);
  const failed = whole.length > 0 ? null : (rest['error'] ?? failureOf(given[0]));
  if (failed !== null) throw reportedFailure(failed, ask, usage);
  // Servers that report calls as the reason of the end hide that the answer was cut off in one.
  const isCut = whole.length === 1 && usage !== undefined && usage.completion_tokens === ask.body.max_completion_tokens;
  const tidy = {
    ...rest,
    ...(typeof id === 'string' && { id }),
    ...(typeof model === 'string' && { model }),
    choices: Array.isArray(choices) ? whole.map((choice, at) => tidyChoice(choice, at, isCut)) : choices,
    ...(usage !== undefined && { usage }),
  };
  if (validate(tidy)) return tidy;
  const [error] = validate.errors ?? [];
  const what = `${error?.instancePath.slice(1).replaceAll('/', '.') || 'the answer'} ${error?.message}`;
  throw malformed(ask, what, true, usage);
}

/** The error of a choice, as brokers of models report it; null: it has none. */
function failureOf(choice: unknown): unknown {
  if (!isObject(choice)) return null;
  const { error, finish_reason: finish } = choice;
  return error ?? (finish === 'error' ? 'finish_reason error' : null);
}

/** The usage of an answer; undefined: none that can be counted. Some servers leave a count out, or write null or a fraction. */
function tidyUsage(usage: unknown): WireUsage | undefined {
  if (!isObject(usage)) return undefined;
  const { prompt_tokens: read, completion_tokens: written, total_tokens: all, prompt_tokens_details: details, ...rest } = usage;
  const [prompt, total] = [countOf(read), countOf(all)];
  const completion = countOf(written) ?? (prompt === null || total === null ? null : Math.max(0, total - prompt));
  if (prompt === null || completion === null) return undefined;
  return {
    ...rest,
    prompt_tokens: prompt,
    completion_tokens: completion,
    ...(total !== null && { total_tokens: total }),
    ...(isObject(details) && { prompt_tokens_details: { ...details, cached_tokens: countOf(details['cached_tokens']) } }),
  };
}

const countOf = (value: unknown): number | null => (typeof value === 'number' && value >= 0 ? Math.ceil(value) : null);

/** A choice that a filter held back may have no message. */
function tidyChoice(choice: unknown, at: number, isCut: boolean): unknown {
  if (!isObject(choice)) return choice;
  const { index, finish_reason: finish, logprobs } = choice;
  const message = choice['message'] ?? (finish === 'content_filter' ? {} : undefined);
  if (!isObject(message)) return choice;
  const { tool_calls: given, tool_call_id: _id, ...rest } = message;
  const older = isObject(message['function_call']) ? [{ function: message['function_call'] }] : [];
  const calls: readonly unknown[] = Array.isArray(given) && given.length > 0 ? given : older;
  const tidy = calls.length > 0 ? { tool_calls: tidyCalls(calls) } : {};
  return {
    ...choice,
    index: countOf(index) ?? at,
    message: { content: null, ...rest, ...tidy, role: 'assistant' },
    finish_reason: isCut ? 'length' : typeof finish === 'string' ? finish : null,
    logprobs: isLogprobs(logprobs) ? logprobs : null,
  };
}

/** Calls with ids that differ, names, and arguments as text: some servers give none, the same one, or an object, or leave the function out. */
function tidyCalls(calls: readonly unknown[]): readonly unknown[] {
  const ids = new Set<string>();
  return calls.map((value) => {
    const { name: bare, arguments: bareArgs, ...call } = (value ?? {}) as Partial<WireToolCall> & Loose;
    const { name = bare, arguments: args = bareArgs, ...rest } = (call.function ?? {}) as Loose;
    const called = { ...rest, name: typeof name === 'string' ? name : '', arguments: textOf(args ?? {}) };
    return { ...call, id: uniqueId(call.id, ids), type: 'function', function: called };
  });
}

const textOf = (args: unknown): string => (typeof args === 'string' ? args : JSON.stringify(args));

/** The id that a server gives a call, or one of ours where it gives none or one of `ids`; it is added to them. Templates of Mistral take no longer one. */
function uniqueId(id: unknown, ids: Set<string>): string {
  const unique = typeof id === 'string' && id !== '' && !ids.has(id) ? id : randomUUID().replace('-', '').slice(0, 9);
  ids.add(unique);
  return unique;
}

type Delta = Chunk['choices'][number]['delta'];
type CallPiece = NonNullable<Delta['tool_calls']>[number];

/** A call of a stream up to now; `id` is the server's, or empty. */
interface Begun {
  readonly index: number;
  readonly id: string;
  name: string;
  readonly args: WrittenJson;
}

/** Reports whether an object of JSON that comes in pieces is whole: to parse all of it again for each would take quadratic time. */
class WrittenJson {
  #depth = 0;
  #inString = false;
  #escaped = false;
  isWhole = false;

  add(piece: string): void {
    for (const char of piece) {
      if (this.#escaped) this.#escaped = false;
      else if (char === '\\') this.#escaped = this.#inString;
      else if (char === '"') this.#inString = !this.#inString;
      else if (!this.#inString && (char === '{' || char === '[')) this.#depth += 1;
      else if (!this.#inString && (char === '}' || char === ']')) this.isWhole = (this.#depth -= 1) === 0;
    }
  }
}

/** Puts the calls of one streamed choice right as {@link tidyCalls} does whole ones: some servers give all of them one index, or none. */
class StreamedCalls {
  /** The last call of each index of the server. */
  readonly #begun = new Map<number, Begun>();
  readonly #ids = new Set<string>();
  #calls = 0;
  #at = 0;

  tidy(piece: CallPiece): CallPiece {
    const { index, id, function: called, ...rest } = piece as Partial<CallPiece> & Loose;
    const { name, arguments: args, ...more } = (called ?? {}) as Loose;
    const given = { id: typeof id === 'string' ? id : '', name: typeof name === 'string' ? name : '' };
    const text = args === undefined || args === null ? '' : textOf(args);
    this.#at = index ?? this.#at;
    const open = this.#begun.get(this.#at);
    if (open !== undefined && !begins(given, open)) {
      const isNamed = open.name === '' && given.name !== '';
      open.args.add(text);
      open.name ||= given.name;
      return { ...rest, index: open.index, function: { ...more, ...(isNamed && { name: given.name }), arguments: text } };
    }
    const begun = { ...given, index: this.#calls, args: new WrittenJson() };
    begun.args.add(text);
    this.#begun.set(this.#at, begun);
    this.#calls += 1;
    const whole = { ...more, name: given.name, arguments: text };
    return { ...rest, index: this.#calls - 1, id: uniqueId(id, this.#ids), type: 'function', function: whole };
  }
}

/** Reports whether a piece with the index of a call begins the next. Only a name does: some servers repeat it, or the id, in each piece. */
function begins({ id, name }: Pick<Begun, 'id' | 'name'>, open: Begun): boolean {
  if (name === '' || open.name === '') return false;
  return name !== open.name || (id === '' ? open.args.isWhole : id !== open.id);
}

/**
 * Returns a chunk with the members that every chunk has: those of filters and of the usage come without some.
 * @param calls of the stream, by choice
 * @throws GatewayError of the error that a choice holds
 */
function tidyChunk(chunk: Chunk, calls: Map<number, StreamedCalls>, ask: Ask): Chunk {
  const { choices, usage, ...rest } = chunk as Partial<Chunk>;
  const counted = tidyUsage(usage);
  const tidy = (choice: Partial<Chunk['choices'][number]>): Chunk['choices'][number] => {
    const failed = failureOf(choice);
    if (failed !== null) throw reportedFailure(failed, ask, counted);
    const { index = 0, delta, finish_reason: finish = null } = choice;
    const { tool_calls: pieces, ...more } = delta ?? {};
    const own = calls.get(index) ?? new StreamedCalls();
    calls.set(index, own);
    const tool_calls = Array.isArray(pieces) ? { tool_calls: pieces.map((piece) => own.tidy(piece)) } : {};
    return { ...choice, index, delta: { ...more, ...tool_calls }, finish_reason: finish };
  };
  return { ...rest, choices: (choices ?? []).map(tidy), ...(counted !== undefined && { usage: counted }) } as Chunk;
}

type Bound = 'max_completion_tokens' | 'max_tokens';

/** A form of requests that a server takes. */
interface Form {
  readonly bound: Bound;
  readonly order: Order;
}

/** Words of Ollama and llama.cpp about a call that they cannot read, with what the model wrote. */
const unread = /error parsing tool call: raw='([^]*)', err=|Failed to parse input at pos \d+: ([^]*)/;

/**
 * Returns the answer that a refusal stands for, and throws any other error. Azure refuses a prompt that its filter holds back, and
 * Groq, Ollama and llama.cpp a reply whose call or JSON they cannot read, also in a stream that began: callers see what other servers
 * answer with status 200.
 */
function answered(error: unknown, { body, model }: Ask): ChatCompletion {
  const refusal = error instanceof APIError && isObject(error.error) ? error.error : {};
  const isRefusal = error instanceof APIError && (error.status ?? 400) === 400;
  const { code, failed_generation: failed, message: words } = refusal;
  const [, ollama, llama] = unread.exec(String(words)) ?? [];
  const wrote = ollama ?? llama ?? (isRefusal ? failed : undefined);
  const isFiltered = isRefusal && code === 'content_filter';
  if (!isFiltered && typeof wrote !== 'string') throw error;
  const message: WireMessage = { role: 'assistant', content: typeof wrote === 'string' ? wrote : null };
  const choices = Array.from({ length: body.n ?? 1 }, (_, index) => ({
    index,
    message,
    finish_reason: isFiltered ? 'content_filter' : 'stop',
  }));
  return { model: model.name, choices };
}

/** {@link answered}, in chunks. */
const answeredChunks = (error: unknown, ask: Ask): Chunk[] =>
  answered(error, ask).choices.map((choice) => chunkOfChoice(ask.model.name, choice, choice.index));

/** Servers of the OpenAI chat API: hosted, or the pool's own engines. */
export class OpenAIProvider implements Provider {
  readonly several = true;
  /** The forms that models take. */
  readonly #forms = new Map<string, Form>();

  async complete(ask: Ask): Promise<ChatCompletion> {
    const answer: unknown = await this.#create(ask, (client, body) =>
      client.chat.completions.create({ ...body, stream: false } as unknown as ChatCompletionCreateParamsNonStreaming, optionsOf(ask)),
    ).catch((error: unknown) => answered(error, ask));
    return keepState(completionOf(answer, ask), ask.model);
  }

  async *stream(ask: Ask): AsyncIterable<Chunk> {
    const more = { stream: true, stream_options: { include_usage: true } };
    const chunks = await this.#create(ask, (client, body) =>
      client.chat.completions.create({ ...body, ...more } as unknown as ChatCompletionCreateParamsStreaming, optionsOf(ask)),
    ).catch((error: unknown) => answeredChunks(error, ask));
    if (Array.isArray(chunks)) {
      yield* chunks;
      return;
    }
    if (!(Symbol.asyncIterator in chunks)) throw malformed(ask, 'it does not stream');
    const calls = new Map<number, StreamedCalls>();
    try {
      for await (const chunk of chunks) yield tidyChunk(chunk, calls, ask);
    } catch (error) {
      yield* answeredChunks(error, ask);
    }
  }

  async #create<T>(ask: Ask, create: (client: OpenAI, body: Record<string, unknown>) => PromiseLike<T>): Promise<T> {
    const client = clientOf(ask);
    const id = `${ask.url} ${ask.model.model}`;
    const refused = new Set<Bound>();
    for (let form = this.#forms.get(id) ?? { bound: usualBound(ask.url), order: 'AsItCame' as const }; ;) {
      try {
        const answer = await create(client, bodyOf(ask, form));
        this.#forms.set(id, form);
        return answer;
      } catch (error) {
        refused.add(form.bound);
        form = otherForm(error, form, refused);
      }
    }
  }
}

/** The form to ask in after a refusal. @throws the error that no other form would cure */
function otherForm(error: unknown, { bound, order }: Form, refused: ReadonlySet<Bound>): Form {
  const other = bound === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  if (refusesBound(error, bound) && !refused.has(other)) return { bound: other, order };
  const next = nextOrder(error, order);
  if (next === null) throw error;
  return { bound, order: next };
}

/** OpenAI's own models know the new name only, and most other servers the old one. */
function usualBound(url: string): Bound {
  return /(?:^|\.)(?:openai|azure)\.com$/.test(URL.parse(url)?.hostname ?? '') ? 'max_completion_tokens' : 'max_tokens';
}

function refusesBound(error: unknown, bound: Bound): boolean {
  return error instanceof BadRequestError && new RegExp(`\\b${bound}\\b`).test(error.message);
}

function clientOf({ url, key, fetch, model }: Ask): OpenAI {
  return new OpenAI({
    baseURL: url,
    // The library requires one; the header of a server without keys is removed below.
    apiKey: key ?? 'none',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    // Above the bound of the attempt, which ends it.
    timeout: (model.timeoutSeconds + 60) * 1000,
    logLevel: 'off',
    fetch,
    ...(key === null && { defaultHeaders: { authorization: null } }),
  });
}

const optionsOf = ({ signal }: Ask): { readonly signal: AbortSignal } => ({ signal });

function bodyOf({ body, model }: Ask, { bound, order }: Form): Record<string, unknown> {
  const { max_completion_tokens: tokens, stream: _stream, messages_options: _options, messages, tools, ...rest } = body;
  return {
    ...rest,
    model: model.model,
    messages: ordered(acceptable(messages.map((message) => restored(message, model.model ?? ''))), order),
    ...(tools !== undefined && { tools: tools.map(({ eager_input_streaming: _eager, ...tool }) => unmarked(tool)) }),
    [bound]: tokens,
  };
}

type Part = Extract<WireMessage['content'], readonly unknown[]>[number];

/**
 * Returns messages without what servers refuse: turns of the model that say nothing, and images in results of calls. These are in
 * a message of the user after the last result, as nothing may stand between a call and its results.
 */
function acceptable(messages: readonly WireMessage[]): readonly WireMessage[] {
  const all: WireMessage[] = [];
  let attached: Part[] = [];
  let count = 0;
  const show = (): void => {
    if (attached.length > 0) all.push({ role: 'user', content: attached });
    attached = [];
    count = 0;
  };
  for (const message of messages) {
    if (message.role !== 'tool') show();
    const parts = message.role === 'tool' && Array.isArray(message.content) ? message.content : [];
    if (parts.every(isText)) {
      if (!isEmpty(message)) all.push(message);
      continue;
    }
    const texts = parts.map((part) => {
      if (isText(part)) return part.text;
      count += 1;
      attached.push({ type: 'text', text: `Attachment ${count} of the results:` } as Part, part);
      return `[attachment ${count}, in the next message]`;
    });
    all.push({ ...message, content: texts.join('\n\n') });
  }
  show();
  return all;
}

/** A model that only thought, or a client that kept nothing of its turn. */
function isEmpty({ role, ...message }: WireMessage): boolean {
  const words: Loose = message;
  return role === 'assistant' && ['content', 'tool_calls', 'refusal', 'function_call'].every((name) => (words[name] ?? null) === null);
}

/** Returns a message without members of the Messages API, which servers of the chat API refuse. */
function restored(message: WireMessage, model: string): WireMessage {
  const { provider_state: state, is_error: _error, content, tool_calls: calls, ...bare } = unmarked(message);
  const whole = {
    ...bare,
    ...(content !== undefined && { content: bareContent(content) }),
    ...(calls !== undefined && { tool_calls: calls.map(unmarked) }),
  };
  return restoreState(whole, state, model);
}

const thoughts: ReadonlySet<string> = new Set(['thinking', 'redacted_thinking']);

/** Merges texts that were split for a mark or a thought: not every server accepts parts. */
function bareContent(content: NonNullable<WireMessage['content']> | null): NonNullable<WireMessage['content']> | null {
  if (!Array.isArray(content)) return content;
  if (content.every((part) => !thoughts.has(part.type) && part.type !== 'document' && !('cache_control' in part))) return content;
  const bare = content.filter(({ type }) => !thoughts.has(type)).map((part) => (part.type === 'document' ? unseen : unmarked(part)));
  if (bare.some((part) => !('text' in part))) return bare;
  return bare.length === 0 ? null : bare.map((part) => ('text' in part ? part.text : '')).join('\n\n');
}

/** A model reads that there was something, and may ask for it in another form. */
const unseen = { type: 'text', text: '[a document, which this model cannot be shown; read it as text]' } as const;

function unmarked<T extends object>(value: T): T {
  const { cache_control: _mark, ...rest } = value as T & { readonly cache_control?: unknown };
  return rest as unknown as T;
}
