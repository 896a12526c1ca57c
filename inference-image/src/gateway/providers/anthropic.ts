import { Anthropic } from '@anthropic-ai/sdk';
import type { ChatCompletion } from '@agentfleet/protocol/chat';
import { fieldsOf, jsonOf, textOf } from '@agentfleet/protocol/text';
import { anthropicAnswer, anthropicState, argumentsOf, finishOf, stopOf, usageOfMessage } from './anthropicAnswer.ts';
import { firstMessagesForm, formed, nextMessagesForm, type MessagesForm } from './anthropicForm.ts';
import { anthropicRequest, inputOf } from './anthropicRequest.ts';
import { messagesAddress } from './address.ts';
import { malformed, reportedFailure } from './failure.ts';
import { clientOptions, type Ask, type Chunk, type Provider } from './provider.ts';
import type {
  ContentBlock,
  Message,
  MessageCreateParamsNonStreaming,
  RawMessageStreamEvent,
  StopReason,
  TextBlock,
} from '@anthropic-ai/sdk/resources/messages';
import { chunkOf, chunksOfAnswer, usageChunk } from './chunks.ts';
import { EventLines } from './eventLines.ts';
import { chunksOf } from './response.ts';

/** An open block; `call` is the number of a call, from 0 on. */
type Open = { block: ContentBlock; json: string; readonly call: number };
type Counts = NonNullable<Parameters<typeof usageOfMessage>[0]>;
type Delta = (RawMessageStreamEvent & { type: 'content_block_delta' })['delta'];

/** Blocks that begin with a piece of them, by its type. */
const beginnings: ReadonlyMap<string | undefined, Partial<ContentBlock>> = new Map([
  ['text_delta', { type: 'text' }],
  ['thinking_delta', { type: 'thinking' }],
]);

/** Converts events of the Messages API to chunks of the chat API; the model's state comes with the last one. */
class AnthropicStream {
  readonly #model: string;
  readonly #blocks = new Map<number, Open>();
  #calls = 0;
  #usage: Counts | null = null;
  #reason: StopReason | null = null;
  #sequence: string | null = null;
  #ended = false;

  constructor(model: string) {
    this.#model = model;
  }

  /** Yields the chunks of an event. Other servers of this API leave members out. */
  *chunks(event: RawMessageStreamEvent): Iterable<Chunk> {
    const { message, delta } = event as { readonly message?: Partial<Message>; readonly delta?: Partial<Message> };
    // Until the first block an overloaded server is asked again: nothing was sent yet.
    if (event.type === 'message_start') this.#usage = message?.usage ?? null;
    else if (event.type === 'content_block_start') yield* this.#start(event.index, event.content_block);
    else if (event.type === 'content_block_delta') yield* this.#delta(event.index, event.delta);
    else if (event.type === 'content_block_stop') yield* this.#stop(event.index);
    else if (event.type === 'message_delta') {
      this.#reason = delta?.stop_reason ?? this.#reason;
      this.#sequence = delta?.stop_sequence ?? this.#sequence;
      // Some count the prompt here alone, or leave the counts out.
      const counted = Object.entries((event.usage ?? {}) as object).filter(([, count]) => typeof count === 'number' && count > 0);
      this.#usage = { input_tokens: 0, output_tokens: 0, ...this.#usage, ...Object.fromEntries(counted) };
    } else if (event.type === 'message_stop') yield* this.#end();
  }

  /** Yields the last chunks where the reason of the end was the last event: some servers, and connections that break, leave out the stop. */
  *rest(): Iterable<Chunk> {
    if (this.#reason !== null && !this.#ended) yield* this.#end();
  }

  *#start(index: number, given: Partial<ContentBlock> | undefined): Iterable<Chunk> {
    if (this.#blocks.size === 0) yield this.#head();
    const block = { ...given } as ContentBlock;
    this.#blocks.set(index, { block, json: '', call: this.#calls });
    if (block.type === 'text') yield* this.#text(block, '', textOf(block.text));
    if (block.type === 'thinking') block.thinking = textOf(block.thinking);
    if (block.type !== 'tool_use') return;
    const call = { index: this.#calls, id: block.id, type: 'function' as const, function: { name: block.name, arguments: '' } };
    this.#calls += 1;
    yield chunkOf(this.#model, { tool_calls: [call] });
  }

  *#delta(index: number, delta: Delta | null | undefined): Iterable<Chunk> {
    const kind = beginnings.get(delta?.type);
    // Some servers write a text without a beginning.
    if (!this.#blocks.has(index) && kind !== undefined) yield* this.#start(index, kind);
    const open = this.#blocks.get(index);
    if (open === undefined || delta === undefined || delta === null) return;
    const { block } = open;
    if (delta.type === 'text_delta' && block.type === 'text') yield* this.#text(block, block.text, textOf(delta.text));
    else if (delta.type === 'input_json_delta') {
      const text = argumentsOf(delta.partial_json ?? '');
      open.json += text;
      yield chunkOf(this.#model, { tool_calls: [{ index: open.call, function: { arguments: text } }] });
    } else if (delta.type === 'thinking_delta' && block.type === 'thinking') {
      block.thinking += textOf(delta.thinking);
      yield chunkOf(this.#model, { thinking: { text: textOf(delta.thinking) } });
    } else if (delta.type === 'signature_delta' && block.type === 'thinking') block.signature = delta.signature;
  }

  *#text(block: TextBlock, before: string, text: string): Iterable<Chunk> {
    block.text = before + text;
    if (text !== '') yield chunkOf(this.#model, { content: text });
  }

  /** A call without arguments may have no piece of them. */
  *#stop(index: number): Iterable<Chunk> {
    const open = this.#blocks.get(index);
    if (open?.block.type === 'thinking' || open?.block.type === 'redacted_thinking')
      yield chunkOf(this.#model, { thinking: { block: open.block } });
    if (open?.block.type !== 'tool_use' || open.json !== '') return;
    open.json = argumentsOf(open.block.input);
    yield chunkOf(this.#model, { tool_calls: [{ index: open.call, function: { arguments: open.json } }] });
  }

  #head(): Chunk {
    return chunkOf(this.#model, { role: 'assistant', content: '' });
  }

  *#end(): Iterable<Chunk> {
    this.#ended = true;
    if (this.#blocks.size === 0) yield this.#head();
    const content = [...this.#blocks.values()].map(({ block, json }) =>
      block.type === 'tool_use' && json !== '' ? { ...block, input: inputOf(json) } : block,
    );
    const usage = usageOfMessage(this.#usage);
    const last = chunkOf(this.#model, { provider_state: anthropicState(content, this.#model) }, finishOf(this.#reason));
    const stopped = stopOf(this.#reason, this.#sequence);
    yield { ...last, choices: last.choices.map((choice) => ({ ...choice, ...stopped })) };
    if (usage !== null) yield usageChunk(this.#model, usage);
  }
}

/** Models of the Messages API. */
export class AnthropicProvider implements Provider {
  readonly several = false;

  /** The forms that models take. */
  readonly #forms = new Map<string, MessagesForm>();

  async complete(ask: Ask): Promise<ChatCompletion> {
    const client = clientOf(ask);
    return answerOf(await this.#create(ask, (request) => client.messages.create(request, { signal: ask.signal })), ask);
  }

  async *stream(ask: Ask): AsyncIterable<Chunk> {
    const client = clientOf(ask);
    const response = await this.#create(ask, (request) =>
      client.messages.create({ ...request, stream: true }, { signal: ask.signal }).asResponse(),
    );
    yield* chunksOf(response, ask, {
      events: (each) => chunksIn(each, ask),
      whole: (value) => chunksOfAnswer(answerOf(value, ask), ask.model.name),
    });
  }

  async #create<T>(ask: Ask, create: (request: MessageCreateParamsNonStreaming) => PromiseLike<T>): Promise<T> {
    const id = `${ask.url} ${ask.model.model}`;
    const whole = anthropicRequest(ask);
    for (let form = this.#forms.get(id) ?? firstMessagesForm; ;) {
      const request = formed(whole, form);
      try {
        return await create(request);
      } catch (error) {
        const next = nextMessagesForm(error, form, request);
        if (next === null) throw error;
        form = next;
        this.#forms.set(id, { ...form, once: new Set() });
      }
    }
  }
}

async function* chunksIn(response: Response, ask: Ask): AsyncIterable<Chunk> {
  const chunks = new AnthropicStream(ask.model.model ?? '');
  try {
    for await (const event of new EventLines().events(response)) yield* chunks.chunks(fieldsOf(event) as unknown as RawMessageStreamEvent);
    yield* chunks.rest();
  } catch (error) {
    const last = [...chunks.rest()];
    if (last.length === 0) throw error;
    yield* last;
  }
}

/** @throws GatewayError for what is no message */
function answerOf(given: unknown, ask: Ask): ChatCompletion {
  const message = typeof given === 'string' ? jsonOf(given) : given;
  const { error, usage } = fieldsOf(message) as { readonly error?: unknown; readonly usage?: Counts | null };
  const used = usageOfMessage(usage) ?? undefined;
  if (error !== undefined && error !== null) throw reportedFailure(error, ask, used);
  if (!isMessage(message)) throw malformed(ask, 'its answer is no message of the Messages API', message !== undefined, used);
  return anthropicAnswer(message, ask.model.model ?? '');
}

function isMessage(value: unknown): value is Anthropic.Message {
  if (typeof value !== 'object' || value === null) return false;
  const { content } = value as { readonly content?: unknown };
  return Array.isArray(content) && content.every((block) => typeof block === 'object' && block !== null && 'type' in block);
}

function clientOf(ask: Ask): Anthropic {
  const baseURL = messagesAddress(ask.url);
  return new Anthropic({ ...clientOptions(ask), baseURL, webhookKey: null, openTelemetry: false });
}
