import type { HarnessApi } from '@agentfleet/protocol/api';
import { chatRoutes, type TokenUsage } from '@agentfleet/protocol/chat';
import { chatUsage, count, usageBy } from '../../models/convert.ts';
import type { ModelProposal } from '../../models/models.ts';
import { fieldsOf, listOf, textOf, type Fields } from '@agentfleet/protocol/text';

/** The objects of a list. */
export function list(value: unknown): readonly Fields[] {
  return listOf(value).map(fieldsOf);
}

/** Parts of an answer that are charged and recorded. */
export interface Answered {
  readonly proposals: readonly ModelProposal[];
  /** Null: it does not report any. */
  readonly usage: TokenUsage | null;
  readonly model: string;
}

/** Reads the events of one stream. */
export interface StreamReader {
  /** Returns the error of the stream in this event, if any. */
  add(event: Fields): Fields | null;
  answered(): Answered;
}

/** Properties of an API that the endpoint needs. */
export interface ProgramApi {
  /** Path of requests that a model answers. */
  readonly path: string;
  /** Others that are passed on, and cost nothing. */
  readonly free: readonly string[];
  /** Fields that bound an answer; the first is sent. */
  readonly bounds: readonly [string, ...string[]];
  /** Fields by which a stream reports its usage; others do so unasked. */
  readonly metered?: Fields;
  /** Variables that programs and libraries of the API read. Pure. */
  environment(url: string, key: string): Readonly<Record<string, string>>;
  /** The body of a refusal. Pure. */
  refusal(status: number, code: string, message: string): unknown;
  /** Pure. */
  answered(body: Fields): Answered;
  reader(): StreamReader;
}

const openai = (url: string, key: string): Readonly<Record<string, string>> => ({
  OPENAI_BASE_URL: `${url}/v1`,
  OPENAI_API_BASE: `${url}/v1`,
  OPENAI_API_KEY: key,
});

const openaiRefusal: ProgramApi['refusal'] = (status, code, message) => ({
  error: { message, type: status < 500 ? 'invalid_request_error' : 'server_error', param: null, code, retryable: false },
});

type Finish = ModelProposal['finish'];
interface Call {
  id: string;
  name: string;
  arguments: string;
}

function proposal(words: string, calls: readonly Call[], cut: boolean): ModelProposal {
  const finish: Finish = cut ? 'Length' : calls.length > 0 ? 'Calls' : 'Stop';
  return { text: words, calls, finish, entropyNats: null };
}

const responsesUsage = usageBy('input_tokens', 'output_tokens', 'input_tokens_details');

const chat: ProgramApi = {
  path: chatRoutes.completions,
  free: [],
  bounds: ['max_completion_tokens', 'max_tokens'],
  metered: { stream_options: { include_usage: true } },
  environment: openai,
  refusal: openaiRefusal,
  answered(body) {
    const proposals = list(body['choices']).map((choice) => {
      const message = fieldsOf(choice['message']);
      const calls = list(message['tool_calls']).map(chatCall);
      return proposal(textOf(message['content']), calls, choice['finish_reason'] === 'length');
    });
    return { proposals, usage: chatUsage(body['usage']), model: textOf(body['model']) };
  },
  reader: () => new ChatReader(),
};

function chatCall({ id, function: called }: Fields): Call {
  const { name, arguments: args } = fieldsOf(called);
  return { id: textOf(id), name: textOf(name), arguments: textOf(args) };
}

class ChatReader implements StreamReader {
  readonly #choices = new Map<number, { words: string; calls: Map<number, Call>; cut: boolean }>();
  #usage: TokenUsage | null = null;
  #model = '';

  add(event: Fields): Fields | null {
    if (event['error'] !== undefined) return fieldsOf(event['error']);
    this.#usage = chatUsage(event['usage']) ?? this.#usage;
    this.#model = textOf(event['model']) || this.#model;
    for (const { index, delta, finish_reason: finish } of list(event['choices'])) this.#delta(count(index), fieldsOf(delta), finish);
    return null;
  }

  #delta(index: number, delta: Fields, finish: unknown): void {
    const choice = this.#choices.get(index) ?? { words: '', calls: new Map<number, Call>(), cut: false };
    this.#choices.set(index, choice);
    choice.words += textOf(delta['content']);
    choice.cut ||= finish === 'length';
    for (const piece of list(delta['tool_calls'])) {
      const at = count(piece['index']);
      const { id, name, arguments: args } = chatCall(piece);
      const call = choice.calls.get(at) ?? { id, name, arguments: '' };
      call.arguments += args;
      choice.calls.set(at, call);
    }
  }

  answered(): Answered {
    const proposals = [...this.#choices.values()].map(({ words, calls, cut }) => proposal(words, [...calls.values()], cut));
    return { proposals, usage: this.#usage, model: this.#model };
  }
}

const messages: ProgramApi = {
  path: chatRoutes.messages,
  free: [chatRoutes.countTokens],
  bounds: ['max_tokens'],
  environment: (url, key) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key }),
  refusal: (status, code, message) => ({
    type: 'error',
    error: { type: messagesTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error'), message, code, retryable: false },
  }),
  answered(body) {
    const blocks = list(body['content']);
    const calls = blocks.filter(({ type }) => type === 'tool_use').map(blockCall);
    const words = blocks.map((block) => textOf(block['text'])).join('');
    return answeredBy(proposal(words, calls, body['stop_reason'] === 'max_tokens'), messagesUsage(body['usage']), body['model']);
  },
  reader: () => new MessagesReader(),
};

const messagesTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
};

function blockCall({ id, name, input }: Fields): Call {
  return { id: textOf(id), name: textOf(name), arguments: JSON.stringify(input ?? {}) };
}

/** The API counts tokens read from and written to a cache separately from the input. */
function messagesUsage(value: unknown): TokenUsage | null {
  const usage = fieldsOf(value);
  const cachedInput = count(usage['cache_read_input_tokens']);
  const input = count(usage['input_tokens']) + cachedInput + count(usage['cache_creation_input_tokens']);
  return input === 0 ? null : { input, cachedInput, output: count(usage['output_tokens']), estimated: false };
}

function answeredBy(one: ModelProposal, usage: TokenUsage | null, model: unknown): Answered {
  return { proposals: [one], usage, model: textOf(model) };
}

class MessagesReader implements StreamReader {
  readonly #calls = new Map<unknown, Call>();
  #words = '';
  #cut = false;
  #usage: TokenUsage | null = null;
  #model = '';

  add(event: Fields): Fields | null {
    const { type, index } = event;
    if (type === 'error') return fieldsOf(event['error']);
    if (type === 'message_start') this.#model = textOf(fieldsOf(event['message'])['model']);
    const block = fieldsOf(event['content_block']);
    if (block['type'] === 'tool_use') this.#calls.set(index, { ...blockCall(block), arguments: '' });
    const delta = fieldsOf(event['delta']);
    if (delta['type'] === 'text_delta') this.#words += textOf(delta['text']);
    const call = this.#calls.get(index);
    if (call !== undefined && delta['type'] === 'input_json_delta') call.arguments += textOf(delta['partial_json']);
    // The usage at the beginning is an estimate.
    if (type === 'message_delta') this.#usage = messagesUsage(event['usage']) ?? this.#usage;
    this.#cut ||= delta['stop_reason'] === 'max_tokens';
    return null;
  }

  answered(): Answered {
    return answeredBy(proposal(this.#words, [...this.#calls.values()], this.#cut), this.#usage, this.#model);
  }
}

const responses: ProgramApi = {
  path: chatRoutes.responses,
  free: [],
  bounds: ['max_output_tokens'],
  environment: openai,
  refusal: openaiRefusal,
  answered(body) {
    const items = list(body['output']);
    const words = items.flatMap((item) => list(item['content'])).map((part) => textOf(part['text']));
    const calls = items
      .filter(({ type }) => type === 'function_call' || type === 'custom_tool_call')
      .map(({ call_id: id, name, arguments: args, input }) => ({ id: textOf(id), name: textOf(name), arguments: textOf(args ?? input) }));
    return answeredBy(proposal(words.join(''), calls, body['status'] === 'incomplete'), responsesUsage(body['usage']), body['model']);
  },
  reader: () => new ResponsesReader(),
};

/** The last event holds the whole answer; before it the items that are done. */
class ResponsesReader implements StreamReader {
  #response: Fields = {};
  #items: Fields[] = [];

  add({ type, response, item }: Fields): Fields | null {
    if (response !== undefined) this.#response = fieldsOf(response);
    if (type === 'response.output_item.done') this.#items.push(fieldsOf(item));
    if (type !== 'response.failed') return null;
    const error = fieldsOf(this.#response['error']);
    return { ...error, code: error['gateway_code'] ?? error['code'] };
  }

  answered(): Answered {
    const { output } = this.#response;
    const whole = Array.isArray(output) && output.length > 0 ? output : this.#items;
    return responses.answered({ ...this.#response, output: whole });
  }
}

export const programApis: Readonly<Record<Exclude<HarnessApi, 'None'>, ProgramApi>> = {
  Chat: chat,
  Messages: messages,
  Responses: responses,
};
