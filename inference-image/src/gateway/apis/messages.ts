import { chatRoutes, type WireUsage } from '@agentfleet/protocol/chat';
import { estimate, type Chunk, type Delta } from '../providers/index.ts';
import { type ClientApi, namedEvent, outOfOrder, type EventWriter, type Tagged } from './api.ts';
import { messageOf, messagesRefusal, carriedBlocks, messageId, stopOf, usageOf } from './messagesAnswer.ts';
import { chatOfMessages, messagesRequest } from './messagesRequest.ts';
import type { GatewayError } from '../providers/gatewayError.ts';
import { ownSignature, reasoningOf, wordsOf } from './carried.ts';

type Choice = Chunk['choices'][number];
type Open = 'text' | 'thinking' | 'whole' | `call ${number}`;
type CallPiece = NonNullable<Choice['delta']['tool_calls']>[number];

/** Events of the Messages API. Its blocks follow one another: a new one ends the one before. */
class MessageEvents implements EventWriter {
  readonly #estimated: WireUsage;
  readonly #wanted: boolean;
  #started = false;
  /** Blocks begun up to now. */
  #blocks = 0;
  /** The open block. */
  #open: Open | null = null;
  #calls = new Set<number>();
  #finish: string | null = null;
  #sequence: unknown = null;
  #state: unknown;
  #usage: WireUsage | null = null;

  /**
   * @param estimated of the prompt, which is counted at the end only
   * @param wanted whether the client asked for thinking
   */
  constructor(estimated: WireUsage, wanted: boolean) {
    this.#estimated = estimated;
    this.#wanted = wanted;
  }

  *chunk({ choices, usage, model }: Chunk): Iterable<string> {
    if (!this.#started) yield* this.#start(model);
    this.#usage = usage ?? this.#usage;
    for (const choice of choices) if (choice.index === 0) yield* this.#choice(choice);
  }

  *end(): Iterable<string> {
    yield* this.#close();
    const called = this.#calls.size > 0;
    if (this.#blocks === 0) yield* this.#whole({ type: 'text', text: '' });
    for (const block of carriedBlocks(this.#state, this.#wanted || called)) yield* this.#whole(block);
    const delta = stopOf(this.#finish, called, this.#sequence);
    yield namedEvent({ type: 'message_delta', delta, usage: usageOf(this.#usage ?? this.#estimated) });
    yield namedEvent({ type: 'message_stop' });
  }

  *fail(failure: GatewayError): Iterable<string> {
    yield namedEvent(messagesRefusal(failure));
  }

  *#start(model: string): Iterable<string> {
    this.#started = true;
    const usage = { ...usageOf(this.#estimated), output_tokens: 0 };
    const empty = { content: [], stop_reason: null, stop_sequence: null, usage };
    yield namedEvent({ type: 'message_start', message: { id: messageId(), type: 'message', role: 'assistant', model, ...empty } });
    yield namedEvent({ type: 'ping' });
  }

  *#choice(choice: Choice): Iterable<string> {
    const { tool_calls: calls, thinking, provider_state: state } = choice.delta as Choice['delta'] & Delta;
    const text = wordsOf(choice.delta);
    this.#finish = choice.finish_reason ?? this.#finish;
    this.#sequence = (choice as { readonly stop_reason?: unknown }).stop_reason ?? this.#sequence;
    this.#state = state ?? this.#state;
    const reasoning = this.#wanted ? reasoningOf(choice.delta) : '';
    if (reasoning !== '') yield* this.#piece('thinking', thinkingBlock, { type: 'thinking_delta', thinking: reasoning });
    if (thinking !== undefined) yield* this.#thought(thinking);
    if (text !== '') yield* this.#piece('text', { type: 'text', text: '' }, { type: 'text_delta', text });
    for (const call of calls ?? []) yield* this.#call(call);
  }

  /** Thinking of a model of this API, with its signature. */
  *#thought(piece: NonNullable<Delta['thinking']>): Iterable<string> {
    if ('text' in piece) yield* this.#piece('thinking', thinkingBlock, { type: 'thinking_delta', thinking: piece.text });
    else if (piece.block.type === 'redacted_thinking') yield* this.#whole({ ...piece.block });
    else {
      yield* this.#piece('thinking', thinkingBlock, { type: 'signature_delta', signature: piece.block.signature });
      yield* this.#end();
    }
  }

  *#call({ index, id, function: { name = '', arguments: args = '' } = {} }: CallPiece): Iterable<string> {
    const open = `call ${index}` as const;
    if (this.#calls.has(index) && this.#open !== open) throw outOfOrder();
    this.#calls.add(index);
    yield* this.#begin(open, { type: 'tool_use', id: id ?? `toolu_${messageId()}`, name, input: {} });
    if (args !== '') yield* this.#delta({ type: 'input_json_delta', partial_json: args });
  }

  *#piece(open: 'text' | 'thinking', block: Tagged, delta: Tagged): Iterable<string> {
    yield* this.#begin(open, block);
    yield* this.#delta(delta);
  }

  *#begin(open: Open, block: Tagged): Iterable<string> {
    if (this.#open === open) return;
    yield* this.#close();
    this.#open = open;
    yield namedEvent({ type: 'content_block_start', index: this.#blocks, content_block: block });
    this.#blocks += 1;
  }

  *#whole(block: Tagged): Iterable<string> {
    yield* this.#begin('whole', block);
    yield* this.#end();
  }

  #delta(delta: Tagged): readonly string[] {
    return [namedEvent({ type: 'content_block_delta', index: this.#blocks - 1, delta })];
  }

  /** Ends the open block. Thinking of other vendors has our signature. */
  *#close(): Iterable<string> {
    if (this.#open === 'thinking') yield* this.#delta({ type: 'signature_delta', signature: ownSignature });
    yield* this.#end();
  }

  *#end(): Iterable<string> {
    if (this.#open === null) return;
    this.#open = null;
    yield namedEvent({ type: 'content_block_stop', index: this.#blocks - 1 });
  }
}

const thinkingBlock = { type: 'thinking', thinking: '', signature: '' };

/** The Messages API of Anthropic. */
export const messagesApi: ClientApi = {
  path: chatRoutes.messages,
  read(body) {
    const request = messagesRequest(body);
    const chat = chatOfMessages(request);
    const { type } = (request['thinking'] ?? {}) as { readonly type?: unknown };
    const wanted = type === 'enabled' || type === 'adaptive';
    return {
      chat,
      answer: (completion) => messageOf(completion, wanted),
      events: () => new MessageEvents(estimate(chat, []), wanted),
    };
  },
  refusal: messagesRefusal,
};

/** Answer of `POST /v1/messages/count_tokens`: an estimate by length, on the high side. @throws GatewayError InvalidRequest */
export function countTokens(body: unknown): { readonly input_tokens: number } {
  return { input_tokens: estimate(chatOfMessages(messagesRequest(body)), []).prompt_tokens };
}
