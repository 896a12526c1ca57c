import { Anthropic } from '@anthropic-ai/sdk';
import type { ContentBlockParam, MessageParam, MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/messages';
import { OpenAI } from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import type { ResponseInputItem } from 'openai/resources/responses/responses';

/** A call as all APIs mean it. */
export interface Called {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** A message in the common form of all APIs. `raw` is the received form, which a client sends back unchanged. */
export type Said =
  | { readonly user: string }
  | { readonly result: string; readonly of: string }
  | { readonly text: string; readonly calls: readonly Called[]; readonly raw?: unknown };

/** The parts of an answer that a client read. */
export interface Read {
  readonly text: string;
  readonly calls: readonly Called[];
  readonly end: 'stop' | 'calls' | 'length';
  readonly input: number;
  readonly output: number;
  readonly raw: unknown;
}

/** One conversation to continue. */
export interface Asking {
  readonly system: string;
  readonly said: readonly Said[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly schema: Readonly<Record<string, unknown>> }[];
  readonly stream: boolean;
}

/** A vendor's own library in front of the gateway. */
export type Client = (origin: string, asking: Asking, headers: Readonly<Record<string, string>>) => Promise<Read>;

/** Name of a model that no pool has. */
export const foreignModel = 'vendor-model-9';

const json = (text: string): unknown => JSON.parse(text === '' ? '{}' : text) as unknown;

export const chatClient: Client = async (origin, { system, said, tools, stream }, headers) => {
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'placeholder', maxRetries: 0, defaultHeaders: headers });
  const body = {
    model: foreignModel,
    max_completion_tokens: 500,
    messages: [{ role: 'system', content: system } as const, ...said.map(chatMessage)],
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema }) => ({
        type: 'function' as const,
        function: { name, description, parameters: schema },
      })),
    }),
  };
  const answer = stream
    ? await client.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
    : await client.chat.completions.create(body);
  const [choice] = answer.choices;
  const calls = choice?.message.tool_calls ?? [];
  const ends = { tool_calls: 'calls', length: 'length' } as const;
  return {
    text: choice?.message.content ?? '',
    calls: calls.flatMap((call) =>
      call.type === 'function' ? [{ id: call.id, name: call.function.name, input: json(call.function.arguments) }] : [],
    ),
    end: ends[choice?.finish_reason as keyof typeof ends] ?? 'stop',
    input: answer.usage?.prompt_tokens ?? 0,
    output: answer.usage?.completion_tokens ?? 0,
    raw: choice?.message,
  };
};

function chatMessage(one: Said): ChatCompletionMessageParam {
  if ('user' in one) return { role: 'user', content: one.user };
  if ('result' in one) return { role: 'tool', tool_call_id: one.of, content: one.result };
  const calls = one.calls.map(({ id, name, input }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(input) },
  }));
  return { role: 'assistant', content: one.text, ...(calls.length > 0 && { tool_calls: calls }) };
}

export const messagesClient: Client = async (origin, { system, said, tools, stream }, headers) => {
  const client = new Anthropic({ baseURL: origin, apiKey: 'placeholder', maxRetries: 0, defaultHeaders: headers });
  const body: MessageCreateParamsNonStreaming = {
    model: foreignModel,
    max_tokens: 500,
    system,
    messages: turns(said),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema }) => ({ name, description, input_schema: { type: 'object' as const, ...schema } })),
    }),
  };
  const answer = stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
  const ends = { tool_use: 'calls', max_tokens: 'length' } as const;
  const { usage } = answer;
  return {
    text: answer.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    calls: answer.content.flatMap((block) => (block.type === 'tool_use' ? [{ id: block.id, name: block.name, input: block.input }] : [])),
    end: ends[answer.stop_reason as keyof typeof ends] ?? 'stop',
    input: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
    output: usage.output_tokens,
    raw: answer.content,
  };
};

/** Results of calls are in one turn of the user. */
function turns(said: readonly Said[]): MessageParam[] {
  const all: MessageParam[] = [];
  for (const one of said) {
    const turn = turnOf(one);
    const last = all.at(-1);
    const joined = [...((last?.content ?? []) as ContentBlockParam[]), ...(turn.content as ContentBlockParam[])];
    if (last?.role === turn.role) all.splice(-1, 1, { role: turn.role, content: joined } as MessageParam);
    else all.push(turn);
  }
  return all;
}

function turnOf(one: Said): MessageParam {
  if ('user' in one) return { role: 'user', content: [{ type: 'text', text: one.user }] };
  if ('result' in one) return { role: 'user', content: [{ type: 'tool_result', tool_use_id: one.of, content: one.result }] };
  if (one.raw !== undefined) return { role: 'assistant', content: one.raw as ContentBlockParam[] };
  const text: ContentBlockParam[] = one.text === '' ? [] : [{ type: 'text', text: one.text }];
  return { role: 'assistant', content: [...text, ...one.calls.map((call): ContentBlockParam => ({ type: 'tool_use', ...call }))] };
}

export const responsesClient: Client = async (origin, { system, said, tools, stream }, headers) => {
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'placeholder', maxRetries: 0, defaultHeaders: headers });
  const body = {
    model: foreignModel,
    max_output_tokens: 500,
    store: false,
    instructions: system,
    input: said.flatMap(items),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema }) => ({
        type: 'function' as const,
        name,
        description,
        parameters: schema,
        strict: null,
      })),
    }),
  };
  const answer = stream ? await client.responses.stream(body).finalResponse() : await client.responses.create(body);
  if (answer.status === 'failed') throw new Error(JSON.stringify(answer.error));
  const calls = answer.output.flatMap((item) =>
    item.type === 'function_call' ? [{ id: item.call_id, name: item.name, input: json(item.arguments) }] : [],
  );
  const isCut = answer.status === 'incomplete' && answer.incomplete_details?.reason === 'max_output_tokens';
  return {
    text: answer.output_text,
    calls,
    end: isCut ? 'length' : calls.length > 0 ? 'calls' : 'stop',
    input: answer.usage?.input_tokens ?? 0,
    output: answer.usage?.output_tokens ?? 0,
    raw: answer.output,
  };
};

function items(one: Said): ResponseInputItem[] {
  if ('user' in one) return [{ role: 'user', content: one.user }];
  if ('result' in one) return [{ type: 'function_call_output', call_id: one.of, output: one.result }];
  const text: ResponseInputItem[] = one.text === '' ? [] : [{ role: 'assistant', content: one.text }];
  const calls = one.calls.map(({ id, name, input }): ResponseInputItem => {
    return { type: 'function_call', call_id: id, name, arguments: JSON.stringify(input) };
  });
  return [...text, ...calls];
}
