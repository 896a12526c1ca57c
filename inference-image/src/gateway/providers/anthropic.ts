import { Anthropic } from '@anthropic-ai/sdk';
import type { ChatCompletion } from '@agentfleet/protocol/chat';
import { anthropicAnswer, anthropicState, finishOf, stopOf, usageOfMessage } from './anthropicAnswer.ts';
import { firstMessagesForm, formed, nextMessagesForm, type MessagesForm } from './anthropicForm.ts';
import { anthropicRequest, inputOf } from './anthropicRequest.ts';
import { messagesAddress } from './address.ts';
import { malformed, reportedFailure } from './failure.ts';
import { clientOptions, type Ask, type Chunk, type Provider } from './provider.ts';
import type {
  ContentBlock,
  MessageCreateParamsNonStreaming,
  RawMessageStreamEvent,
  StopReason,
} from '@anthropic-ai/sdk/resources/messages';
import { chunkOf, usageChunk } from './chunks.ts';

/** An open block; `call` is the number of a call, from 0 on. */
type Open = { block: ContentBlock; json: string; readonly call: number };
type Counts = NonNullable<Parameters<typeof usageOfMessage>[0]>;

/** Converts events of the Messages API to chunks of the chat API; the model's state comes with the last one. */
class AnthropicStream {
  readonly #model: string;
  readonly #blocks = new Map<number, Open>();
  #calls = 0;
  #usage: Counts | null = null;
  #reason: StopReason | null = null;
  #sequence: string | null = null;

  constructor(model: string) {
    this.#model = model;
  }

  /** Yields the chunks of an event. */
  *chunks(event: RawMessageStreamEvent): Iterable<Chunk> {
    // Until the first block an overloaded server is asked again: nothing was sent yet.
    if (event.type === 'message_start') this.#usage = event.message.usage;
    else if (event.type === 'content_block_start') yield* this.#start(event.index, event.content_block);
    else if (event.type === 'content_block_delta') yield* this.#delta(event.index, event.delta);
    else if (event.type === 'content_block_stop') yield* this.#stop(event.index);
    else if (event.type === 'message_delta') {
      this.#reason = event.delta.stop_reason;
      this.#sequence = event.delta.stop_sequence;
      // Other servers of this API count the prompt here alone, or leave the counts out.
      const counted = Object.entries((event.usage ?? {}) as object).filter(([, count]) => typeof count === 'number' && count > 0);
      this.#usage = { input_tokens: 0, output_tokens: 0, ...this.#usage, ...Object.fromEntries(counted) };
    } else if (event.type === 'message_stop') yield* this.#end();
  }

  *#start(index: number, block: ContentBlock): Iterable<Chunk> {
    if (this.#blocks.size === 0) yield this.#head();
    this.#blocks.set(index, { block: { ...block }, json: '', call: this.#calls });
    if (block.type !== 'tool_use') return;
    const call = { index: this.#calls, id: block.id, type: 'function' as const, function: { name: block.name, arguments: '' } };
    this.#calls += 1;
    yield chunkOf(this.#model, { tool_calls: [call] });
  }

  *#delta(index: number, delta: (RawMessageStreamEvent & { type: 'content_block_delta' })['delta']): Iterable<Chunk> {
    const open = this.#blocks.get(index);
    if (open === undefined) return;
    const { block } = open;
    if (delta.type === 'text_delta' && block.type === 'text') {
      block.text += delta.text;
      yield chunkOf(this.#model, { content: delta.text });
    } else if (delta.type === 'input_json_delta') {
      open.json += delta.partial_json;
      const piece = { index: open.call, function: { arguments: delta.partial_json } };
      yield chunkOf(this.#model, { tool_calls: [piece] });
    } else if (delta.type === 'thinking_delta' && block.type === 'thinking') {
      block.thinking += delta.thinking;
      yield chunkOf(this.#model, { thinking: { text: delta.thinking } });
    } else if (delta.type === 'signature_delta' && block.type === 'thinking') block.signature = delta.signature;
  }

  /** A call without arguments may have no piece of them. */
  *#stop(index: number): Iterable<Chunk> {
    const open = this.#blocks.get(index);
    if (open?.block.type === 'thinking' || open?.block.type === 'redacted_thinking')
      yield chunkOf(this.#model, { thinking: { block: open.block } });
    if (open?.block.type !== 'tool_use' || open.json !== '') return;
    open.json = JSON.stringify(open.block.input ?? {});
    yield chunkOf(this.#model, { tool_calls: [{ index: open.call, function: { arguments: open.json } }] });
  }

  #head(): Chunk {
    return chunkOf(this.#model, { role: 'assistant', content: '' });
  }

  *#end(): Iterable<Chunk> {
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
    const message: unknown = await this.#create(ask, (request) => client.messages.create(request, { signal: ask.signal }));
    const { error, usage } = (message ?? {}) as { readonly error?: unknown; readonly usage?: Counts | null };
    const used = usageOfMessage(usage) ?? undefined;
    if (error !== undefined && error !== null) throw reportedFailure(error, ask, used);
    if (!isMessage(message)) throw malformed(ask, 'its answer is no message of the Messages API', typeof message !== 'string', used);
    return anthropicAnswer(message, ask.model.model ?? '');
  }

  async *stream(ask: Ask): AsyncIterable<Chunk> {
    const client = clientOf(ask);
    const events = await this.#create(ask, (request) => client.messages.create({ ...request, stream: true }, { signal: ask.signal }));
    const chunks = new AnthropicStream(ask.model.model ?? '');
    for await (const event of events) yield* chunks.chunks(event);
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

function isMessage(value: unknown): value is Anthropic.Message {
  if (typeof value !== 'object' || value === null) return false;
  const { content } = value as { readonly content?: unknown };
  return Array.isArray(content) && content.every((block) => typeof block === 'object' && block !== null && 'type' in block);
}

function clientOf(ask: Ask): Anthropic {
  const baseURL = messagesAddress(ask.url);
  return new Anthropic({ ...clientOptions(ask), baseURL, webhookKey: null, openTelemetry: false });
}
