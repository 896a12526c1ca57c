import { randomUUID } from 'node:crypto';
import { Ajv } from 'ajv';
import { ChatCompletion, type WireToolCall, type WireMessage, type WireUsage } from '@agentfleet/protocol/chat';
import { chatAddress } from './address.ts';
import { jsonOf } from '@agentfleet/protocol/text';
import { malformed, reportedFailure, shown } from './failure.ts';
import { chunkOf, chunkOfChoice, chunksOfAnswer, says } from './chunks.ts';
import { EventLines } from './eventLines.ts';
import { clientOptions, type Ask, type Chunk, type Provider } from './provider.ts';
import { APIError, OpenAI } from 'openai';
import type { ChatCompletionCreateParamsNonStreaming, ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions';
import { bodyOf, firstForm, nextForm, type Form } from './openaiRequest.ts';
import { chunksOf } from './response.ts';
import { keepState } from './state.ts';

const ajv = new Ajv({ strict: false });
const validate = ajv.compile<ChatCompletion>(ChatCompletion);
const isLogprobs = ajv.compile(ChatCompletion.properties.choices.items.properties.logprobs);

type Loose = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Loose => typeof value === 'object' && value !== null;

/**
 * Returns an answer of a server of the OpenAI API, normalized for omissions and deviations of servers.
 * @throws GatewayError of the error that it holds; ProviderMalformed when it is no chat completion
 */
function completionOf(given: unknown, ask: Ask): ChatCompletion {
  const answer = typeof given === 'string' ? jsonOf(given) : given;
  if (!isObject(answer)) throw malformed(ask, 'not with JSON (its content type is another one, or it is empty)', false);
  const { id, model, choices, usage: reported, ...rest } = answer;
  const usage = tidyUsage(reported);
  const list: readonly unknown[] = Array.isArray(choices) ? choices : [];
  const whole = list.filter((choice) => failureOf(choice) === null);
  const failed = whole.length > 0 ? null : (rest['error'] ?? failureOf(list[0]));
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
  throw malformed(ask, list.length > 0 ? what : `${what}, in ${shown(answer, ask)}`, true, usage);
}

/** Reasons of servers that gave up in the middle. */
const broken: readonly unknown[] = ['error', 'abort', 'insufficient_system_resource'];

/** The error of a choice, as brokers of models report it; null: it has none. */
function failureOf(choice: unknown): unknown {
  if (!isObject(choice)) return null;
  const { error, finish_reason: finish } = choice;
  return error ?? (broken.includes(finish) ? `finish_reason ${String(finish)}` : null);
}

/** The reason of an end in the words of the API: Mistral, Gemini and the older API have further ones, and some servers an empty one in each chunk. */
function finishOf(finish: unknown): string | null {
  if (typeof finish !== 'string' || finish === '') return null;
  if (finish === 'model_length') return 'length';
  if (finish === 'function_call') return 'tool_calls';
  return finish.startsWith('content_filter') ? 'content_filter' : finish;
}

/** Content as one text, where it is a part, or all of its parts are texts or what Mistral has beside them. */
function plain(content: unknown): unknown {
  if (!Array.isArray(content)) return isObject(content) ? content['text'] : content;
  const texts = content.map((part: unknown) =>
    isObject(part) && ['thinking', 'reference'].includes(String(part['type'])) ? '' : isObject(part) ? part['text'] : part,
  );
  return texts.every((text) => typeof text === 'string') ? texts.join('') : content;
}

/**
 * The usage of an answer; undefined: none that can be counted. Some servers leave a count out, or write null or a fraction; xAI and Gemini
 * count what the model thought in the total alone, and Moonshot and DeepSeek have places of their own for what was cached.
 */
function tidyUsage(usage: unknown): WireUsage | undefined {
  if (!isObject(usage)) return undefined;
  const { prompt_tokens: read, completion_tokens: written, total_tokens: all, prompt_tokens_details: details, ...rest } = usage;
  const [prompt, total, said] = [countOf(read), countOf(all), countOf(written)];
  if (prompt === null || (said === null && total === null)) return undefined;
  const inDetails = isObject(details) ? details['cached_tokens'] : undefined;
  const cached = countOf(inDetails) ?? countOf(usage['cached_tokens']) ?? countOf(usage['prompt_cache_hit_tokens']);
  return {
    ...rest,
    prompt_tokens: prompt,
    completion_tokens: Math.max(said ?? 0, (total ?? 0) - prompt),
    ...(total !== null && { total_tokens: total }),
    ...((isObject(details) || cached !== null) && { prompt_tokens_details: { ...(details as Loose | undefined), cached_tokens: cached } }),
  };
}

const countOf = (value: unknown): number | null => (typeof value === 'number' && value >= 0 ? Math.ceil(value) : null);

/** A choice that a filter held back may have no message. */
function tidyChoice(choice: unknown, at: number, isCut: boolean): unknown {
  if (!isObject(choice)) return choice;
  const { index, logprobs } = choice;
  const finish = finishOf(choice['finish_reason']);
  const message = choice['message'] ?? (finish === 'content_filter' ? {} : undefined);
  if (!isObject(message)) return choice;
  const { tool_calls: given, tool_call_id: _id, content = null, ...rest } = message;
  const older = isObject(message['function_call']) ? [{ function: message['function_call'] }] : [];
  const calls: readonly unknown[] = Array.isArray(given) && given.length > 0 ? given : older;
  const tidy = calls.length > 0 ? { tool_calls: tidyCalls(calls) } : {};
  return {
    ...choice,
    index: countOf(index) ?? at,
    message: { content: plain(content), ...rest, ...tidy, role: 'assistant' },
    finish_reason: isCut ? 'length' : finish,
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

type Piece = Chunk['choices'][number];
type CallPiece = NonNullable<Piece['delta']['tool_calls']>[number];

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

  /** It ends in the middle of an object or a list. */
  get isOpen(): boolean {
    return this.#depth > 0;
  }

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
class StreamedChoice {
  /** The last call of each index of the server. */
  readonly #begun = new Map<number, Begun>();
  readonly #ids = new Set<string>();
  readonly #calls: Begun[] = [];
  #at = 0;
  #said = false;
  #ended = false;

  /** Takes a piece, to know what the choice is at the end of its stream. */
  add(piece: Piece): Piece {
    this.#said ||= says(piece);
    this.#ended ||= piece.finish_reason !== null;
    return piece;
  }

  /** Returns the reason of the end where the server says that its stream is whole, and gave none; null: it gave one, or has no answer. */
  get end(): string | null {
    if (this.#ended || !this.#said) return null;
    if (this.#calls.length === 0) return 'stop';
    return this.#calls.some(({ args }) => args.isOpen) ? 'length' : 'tool_calls';
  }

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
    const begun = { ...given, index: this.#calls.length, args: new WrittenJson() };
    begun.args.add(text);
    this.#begun.set(this.#at, begun);
    this.#calls.push(begun);
    const whole = { ...more, name: given.name, arguments: text };
    return { ...rest, index: begun.index, id: uniqueId(id, this.#ids), type: 'function', function: whole };
  }
}

/** Reports whether a piece with the index of a call begins the next. Only a name does: some servers repeat it, or the id, in each piece. */
function begins({ id, name }: Pick<Begun, 'id' | 'name'>, open: Begun): boolean {
  if (name === '' || open.name === '') return false;
  return name !== open.name || (id === '' ? open.args.isWhole : id !== open.id);
}

/**
 * Returns a chunk with the members that every chunk has: those of filters and of the usage come without some.
 * @param known choices of the stream
 * @throws GatewayError of the error that a choice holds
 */
function tidyChunk(chunk: Loose, known: Map<number, StreamedChoice>, ask: Ask): Chunk {
  const { choices, usage, ...rest } = chunk;
  const counted = tidyUsage(usage);
  const tidy = (choice: Loose): Piece => {
    const failed = failureOf(choice);
    if (failed !== null) throw reportedFailure(failed, ask, counted);
    const { delta, message, ...more } = choice;
    const index = countOf(choice['index']) ?? 0;
    const own = known.get(index) ?? new StreamedChoice();
    known.set(index, own);
    const piece = [delta, message].find(isObject) ?? {};
    return own.add({ ...more, index, delta: tidyDelta(piece, own), finish_reason: finishOf(choice['finish_reason']) } as Piece);
  };
  const list: readonly Loose[] = Array.isArray(choices) ? choices : [];
  return { ...rest, choices: list.map(tidy), ...(counted !== undefined && { usage: counted }) } as Chunk;
}

function tidyDelta({ content, tool_calls: calls, function_call: older, ...rest }: Loose, choice: StreamedChoice): Loose {
  const text = plain(content);
  const given: readonly unknown[] = [calls ?? (isObject(older) ? { index: 0, function: older } : [])].flat();
  const pieces = given.filter(isObject).map((piece) => choice.tidy(piece as unknown as CallPiece));
  return {
    ...rest,
    ...((typeof text === 'string' || text === null) && { content: text }),
    ...(pieces.length > 0 && { tool_calls: pieces }),
  };
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

async function* chunksIn(response: Response, ask: Ask): AsyncIterable<Chunk> {
  const lines = new EventLines();
  const known = new Map<number, StreamedChoice>();
  let written: number | undefined;
  try {
    for await (const event of lines.events(response)) {
      if (!isObject(event)) continue;
      const chunk = tidyChunk(event, known, ask);
      written = chunk.usage?.completion_tokens ?? written;
      yield chunk;
    }
  } catch (error) {
    yield* answeredChunks(error, ask);
    return;
  }
  if (!lines.isWhole) return;
  const isCut = known.size === 1 && written === ask.body.max_completion_tokens;
  for (const [index, { end }] of known) if (end !== null) yield chunkOf(ask.model.name, {}, isCut ? 'length' : end, index);
}

/** Servers of the OpenAI chat API: hosted, or the pool's own engines. */
export class OpenAIProvider implements Provider {
  readonly several = true;
  /** The forms that models take. */
  readonly #forms = new Map<string, Form>();

  async complete(ask: Ask): Promise<ChatCompletion> {
    const answer: unknown = await this.#create(ask, { stream: false }, (client, body) =>
      client.chat.completions.create(body as unknown as ChatCompletionCreateParamsNonStreaming, optionsOf(ask)),
    ).catch((error: unknown) => answered(error, ask));
    return keepState(completionOf(answer, ask), ask.model);
  }

  async *stream(ask: Ask): AsyncIterable<Chunk> {
    const response = await this.#create(ask, { stream: true, stream_options: { include_usage: true } }, (client, body) =>
      client.chat.completions.create(body as unknown as ChatCompletionCreateParamsStreaming, optionsOf(ask)).asResponse(),
    ).catch((error: unknown) => answeredChunks(error, ask));
    if (Array.isArray(response)) yield* response;
    else
      yield* chunksOf(response, ask, {
        events: (each) => chunksIn(each, ask),
        whole: (value) => chunksOfAnswer(keepState(completionOf(value, ask), ask.model), ask.model.name),
      });
  }

  async #create<T>(ask: Ask, more: Loose, create: (client: OpenAI, body: Loose) => PromiseLike<T>): Promise<T> {
    const client = clientOf(ask);
    const id = `${ask.url} ${ask.model.model}`;
    const asked: Form[] = [];
    for (let form = this.#forms.get(id) ?? firstForm(ask.url); ;) {
      const body = bodyOf(ask, form, more);
      asked.push(form);
      try {
        const answer = await create(client, body);
        if (asked.length > 1) this.#forms.set(id, { ...form, once: new Set() });
        return answer;
      } catch (error) {
        const next = nextForm(error, form, body, asked);
        if (next === null) throw error;
        form = next;
      }
    }
  }
}

function clientOf(ask: Ask): OpenAI {
  const { url, hasOwnHeader } = chatAddress(ask.url);
  const own = hasOwnHeader && ask.key !== null ? { defaultHeaders: { authorization: null, 'api-key': ask.key } } : {};
  const unused = { adminAPIKey: null, organization: null, project: null, webhookSecret: null };
  return new OpenAI({ ...clientOptions(ask), ...own, baseURL: url, ...unused });
}

const optionsOf = ({ signal }: Ask): { readonly signal: AbortSignal } => ({ signal });
