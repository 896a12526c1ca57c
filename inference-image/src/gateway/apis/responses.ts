import { chatRoutes, type WireUsage } from '@agentfleet/protocol/chat';
import { type ClientApi, namedEvent, outOfOrder, type EventWriter, type Tagged } from './api.ts';
import {
  responseOf,
  callItem,
  idOf,
  messageItem,
  reasoningItems,
  responseObject,
  textPart,
  type Calling,
  type ResponsesContext,
} from './responsesAnswer.ts';
import { chatOfResponses, responsesRequest } from './responsesRequest.ts';
import type { GatewayError } from '../providers/gatewayError.ts';
import type { Chunk, Delta } from '../providers/index.ts';
import { reasoningOf, wordsOf } from './carried.ts';

type Choice = Chunk['choices'][number];
type CallPiece = NonNullable<Choice['delta']['tool_calls']>[number];

type Open =
  | { readonly kind: 'text'; readonly id: string; text: string }
  | { readonly kind: 'call'; readonly id: string; readonly index: number; readonly isCustom: boolean; calling: Calling };

/** Codes of the API for a response that failed; programs stop or try again by them. */
const codes: Readonly<Partial<Record<GatewayError['code'], string>>> = {
  ContextExceeded: 'context_length_exceeded',
  RateLimited: 'rate_limit_exceeded',
  InvalidRequest: 'invalid_prompt',
};

/** Events of the Responses API. Its items follow one another: a new one ends the one before. */
class ResponsesEvents implements EventWriter {
  readonly #context: ResponsesContext;
  readonly #created: number;
  readonly #id = idOf('resp');
  readonly #output: Tagged[] = [];
  readonly #calls = new Set<number>();
  #model: string | undefined;
  #events = 0;
  #open: Open | null = null;
  #finish = 'stop';
  #state: unknown;
  #thought = '';
  #usage: WireUsage | null = null;

  /** @param created seconds since 1970 */
  constructor(context: ResponsesContext, created: number) {
    this.#context = context;
    this.#created = created;
  }

  *chunk({ choices, usage, model }: Chunk): Iterable<string> {
    if (this.#events === 0) {
      this.#model = model;
      yield this.#event('response.created', { response: this.#response(null) });
      yield this.#event('response.in_progress', { response: this.#response(null) });
    }
    this.#usage = usage ?? this.#usage;
    for (const choice of choices) if (choice.index === 0) yield* this.#choice(choice);
  }

  *end(): Iterable<string> {
    yield* this.#close();
    if (this.#output.length === 0) {
      yield* this.#begin({ kind: 'text', id: idOf('msg'), text: '' });
      yield* this.#close();
    }
    for (const item of reasoningItems(this.#context, this.#state, this.#thought, this.#calls.size > 0)) {
      yield this.#event('response.output_item.added', { output_index: this.#output.length, item });
      yield* this.#done(item);
    }
    const response = this.#response(this.#finish);
    yield this.#event(response['status'] === 'incomplete' ? 'response.incomplete' : 'response.completed', { response });
  }

  *fail({ code, said }: GatewayError): Iterable<string> {
    const error = { ...said, code: codes[code] ?? 'server_error', gateway_code: code };
    yield this.#event('response.failed', { response: { ...this.#response(null), status: 'failed', error } });
  }

  #event(type: string, members: Readonly<Record<string, unknown>>): string {
    const event = namedEvent({ type, sequence_number: this.#events, ...members });
    this.#events += 1;
    return event;
  }

  #response(finish: string | null): Readonly<Record<string, unknown>> {
    const known = { id: this.#id, created: this.#created, model: this.#model, output: this.#output, usage: this.#usage, finish };
    return responseObject(this.#context, known);
  }

  *#choice({ delta, finish_reason: finish }: Choice): Iterable<string> {
    const { tool_calls: calls, thinking, provider_state: state } = delta as Choice['delta'] & Delta;
    const text = wordsOf(delta);
    this.#finish = finish ?? this.#finish;
    this.#state = state ?? this.#state;
    this.#thought += reasoningOf(delta) + (thinking !== undefined && 'text' in thinking ? thinking.text : '');
    if (text !== '') yield* this.#text(text);
    for (const call of calls ?? []) yield* this.#call(call);
  }

  *#text(delta: string): Iterable<string> {
    if (this.#open?.kind !== 'text') yield* this.#begin({ kind: 'text', id: idOf('msg'), text: '' });
    if (this.#open?.kind !== 'text') return;
    this.#open.text += delta;
    yield this.#event('response.output_text.delta', { ...this.#place(this.#open), content_index: 0, delta, logprobs: [] });
  }

  *#call({ index, id, function: { name = '', arguments: args = '' } = {} }: CallPiece): Iterable<string> {
    if (this.#open?.kind !== 'call' || this.#open.index !== index) {
      if (this.#calls.has(index)) throw outOfOrder();
      this.#calls.add(index);
      const isCustom = this.#context.tools.get(name)?.type === 'custom';
      const calling = { callId: id ?? `call_${idOf('fc')}`, name, args: '' };
      yield* this.#begin({ kind: 'call', id: idOf(isCustom ? 'ctc' : 'fc'), index, isCustom, calling });
    }
    if (this.#open?.kind !== 'call' || args === '') return;
    this.#open.calling = { ...this.#open.calling, args: this.#open.calling.args + args };
    // The input of a custom tool is inside the JSON of its arguments: it is known at their end.
    if (!this.#open.isCustom) yield this.#event('response.function_call_arguments.delta', { ...this.#place(this.#open), delta: args });
  }

  *#begin(open: Open): Iterable<string> {
    yield* this.#close();
    this.#open = open;
    const item =
      open.kind === 'text'
        ? { ...messageItem(open.id, '', 'in_progress'), content: [] }
        : callItem(this.#context, open.calling, open.id, 'in_progress');
    yield this.#event('response.output_item.added', { output_index: this.#output.length, item });
    if (open.kind === 'text')
      yield this.#event('response.content_part.added', { ...this.#place(open), content_index: 0, part: textPart('') });
  }

  *#close(): Iterable<string> {
    const open = this.#open;
    if (open === null) return;
    const place = this.#place(open);
    if (open.kind === 'text') {
      const at = { ...place, content_index: 0 };
      yield this.#event('response.output_text.done', { ...at, text: open.text, logprobs: [] });
      yield this.#event('response.content_part.done', { ...at, part: textPart(open.text) });
      yield* this.#done(messageItem(open.id, open.text, this.#finish === 'length' ? 'incomplete' : 'completed'));
    } else {
      const item = callItem(this.#context, open.calling, open.id);
      yield* this.#written(open.isCustom, place, item);
      yield* this.#done(item);
    }
    this.#open = null;
  }

  *#written(isCustom: boolean, place: object, { name, input, arguments: args }: Tagged): Iterable<string> {
    if (isCustom) {
      yield this.#event('response.custom_tool_call_input.delta', { ...place, delta: input });
      yield this.#event('response.custom_tool_call_input.done', { ...place, input });
    } else yield this.#event('response.function_call_arguments.done', { ...place, name, arguments: args });
  }

  *#done(item: Tagged): Iterable<string> {
    yield this.#event('response.output_item.done', { output_index: this.#output.length, item });
    this.#output.push(item);
  }

  #place({ id }: Open): { readonly item_id: string; readonly output_index: number } {
    return { item_id: id, output_index: this.#output.length };
  }
}

/** The Responses API of OpenAI, without a memory. */
export const responsesApi: ClientApi = {
  path: chatRoutes.responses,
  read(body) {
    const request = responsesRequest(body);
    const { chat, tools } = chatOfResponses(request);
    const context = { request, tools };
    const created = Math.floor(Date.now() / 1000);
    return {
      chat,
      answer: (completion) => responseOf(context, created, completion),
      events: () => new ResponsesEvents(context, created),
    };
  },
  refusal: ({ body }) => body,
};
