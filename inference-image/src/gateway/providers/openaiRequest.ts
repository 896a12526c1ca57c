import { createHash } from 'node:crypto';
import type { WireMessage } from '@agentfleet/protocol/chat';
import { APIError } from 'openai';
import type { Ask } from './provider.ts';
import { fieldsOf } from '@agentfleet/protocol/text';
import { levelFor, levelInstead, type Levels } from './effort.ts';
import { refusedMembers, refusing, spare } from './spare.ts';
import { restoreState } from './state.ts';

type Loose = Readonly<Record<string, unknown>>;
type Bound = 'max_completion_tokens' | 'max_tokens';
/** Order of the roles of a conversation: as it came; in turn, after one system message; in turn, with that in the first message of the user. */
type Order = 'AsItCame' | 'InTurn' | 'WithoutSystem';

/** A form of requests that a server takes; its refusals name the next one. */
export interface Form {
  readonly bound: Bound;
  readonly order: Order;
  /** Members that the server does not know, of requests and of messages. */
  readonly without: ReadonlySet<string>;
  /** Members that it refuses with this one value: the next request has them again. */
  readonly once: ReadonlySet<string>;
  /** Ids of calls are nine letters and digits. */
  readonly isShortId: boolean;
  readonly levels: Levels;
}

/** OpenAI's own models know the new name of the bound only, and most other servers the old one. */
export function firstForm(url: string): Form {
  const isNew = /(?:^|\.)(?:openai|azure)\.com$/.test(URL.parse(url)?.hostname ?? '');
  const none: ReadonlySet<string> = new Set();
  return {
    bound: isNew ? 'max_completion_tokens' : 'max_tokens',
    order: 'AsItCame',
    without: none,
    once: none,
    isShortId: false,
    levels: new Map(),
  };
}

const orderWords =
  /roles? must alternate|unexpected role|\bdeveloper\b.{0,60}\bexpected|'role' has invalid value|system (?:role|messages?) (?:is |are )?(?:not supported|must)|only user and assistant roles/i;
const systemWords = /system (?:role|messages?) (?:is |are )?not supported|only user and assistant roles/i;
const idWords = /(?:call[ _]?ids?|\]\.id)\b.*(?:must be a-z|length 9|too long)/i;
const valueWords = /\b(?:range|at most|less than|greater|exceeds?|too (?:large|big|high)|maximum|between)\b/i;
/** Members that are remembered of a server: names in messages are the clients'. */
const mostWithout = 64;
/**
 * The form to ask in after a refusal; null: no other one would cure it.
 * @param before forms in which it was asked
 */
export function nextForm(error: unknown, form: Form, sent: Loose, before: readonly Form[]): Form | null {
  if (!(error instanceof APIError)) return null;
  const { message, status } = error as { readonly message: string; readonly status?: number };
  // Templates of chat models are refused with any status.
  const order = nextOrder(message, form.order);
  if (order !== null) return { ...form, order };
  if (!form.isShortId && idWords.test(message)) return { ...form, isShortId: true };
  if (!refusing.has(status)) return null;
  const level = levelOf(sent);
  const instead = level === undefined ? null : levelInstead(error, level, form.levels);
  if (level !== undefined && instead !== null) return { ...form, levels: new Map([...form.levels, [level, instead]]) };
  const bound = form.bound === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  // A bound that is too high would be none by its other name, which servers that do not know it ignore.
  const isName = new RegExp(`\\b${form.bound}\\b`).test(message) && !valueWords.test(message);
  if (isName && before.every((one) => one.bound !== bound)) return { ...form, bound };
  const { messages, ...members } = sent;
  const names = [...Object.keys(members).filter((name) => spare.has(name)), ...(messages as readonly object[]).flatMap(Object.keys)];
  const refused = refusedMembers(error, new Set(names.filter((name) => !plainMembers.has(name))));
  if (refused === null) return null;
  const member = refused.isLasting && form.without.size < mostWithout ? 'without' : 'once';
  return { ...form, [member]: new Set([...form[member], ...refused.names]) };
}

/** Members of a message that every server knows. */
const plainMembers: ReadonlySet<string> = new Set(['role', 'content', 'tool_calls', 'tool_call_id', 'refusal', 'function_call']);

function nextOrder(message: string, order: Order): Order | null {
  if (order === 'WithoutSystem' || !orderWords.test(message)) return null;
  return order === 'InTurn' || systemWords.test(message) ? 'WithoutSystem' : 'InTurn';
}

/** The level of thinking that a request asks for, by either of two names. */
function levelOf({ reasoning_effort: effort, reasoning }: Loose): string | undefined {
  const level = effort ?? fieldsOf(reasoning)['effort'];
  return typeof level === 'string' ? level : undefined;
}

/** Members with a level of thinking that the server takes, and by the other name where it does not know `reasoning`. */
function withLevel(members: Loose, { levels, without }: Form): Loose {
  const level = levelOf(members);
  if (level === undefined) return members;
  const effort = levelFor(level, levels);
  const { reasoning, ...rest } = members;
  if (rest['reasoning_effort'] !== undefined || without.has('reasoning')) return { ...members, reasoning_effort: effort };
  return { ...rest, reasoning: { ...(reasoning as Loose), effort } };
}

/** @param more members of a stream */
export function bodyOf({ body, model }: Ask, form: Form, more: Loose): Loose {
  const { bound, order, without, once, isShortId } = form;
  const { max_completion_tokens: tokens, stream: _stream, messages_options: _options, messages, tools, n = 1, ...rest } = body;
  const isKept = (name: string): boolean => !without.has(name) && !once.has(name);
  const own = Object.entries(withLevel({ ...rest, ...more }, form)).filter(([name]) => isKept(name) || !spare.has(name));
  const whole = messages.map((message) => {
    const said = Object.entries(restored(message, model.model ?? '')).filter(([name]) => isKept(name) || plainMembers.has(name));
    return Object.fromEntries(said) as WireMessage;
  });
  return {
    ...Object.fromEntries(own),
    // Not every server knows it.
    ...(n > 1 && { n }),
    model: model.model,
    messages: ordered(acceptable(isShortId ? whole.map(withShortIds) : whole), order),
    ...(tools !== undefined && { tools: tools.map(({ eager_input_streaming: _eager, ...tool }) => unmarked(tool)) }),
    [bound]: tokens,
  };
}

function withShortIds({ tool_calls: calls, tool_call_id: id, ...message }: WireMessage): WireMessage {
  return {
    ...message,
    ...(calls !== undefined && { tool_calls: calls.map((call) => ({ ...call, id: shortId(call.id) })) }),
    ...(id !== undefined && { tool_call_id: shortId(id) }),
  };
}

const shortId = (id: string): string => (/^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9));

type Content = NonNullable<WireMessage['content']>;
type Part = Extract<Content, readonly unknown[]>[number];

export const isText = (part: Part): part is Part & { readonly text: string } => 'text' in part && typeof part.text === 'string';

function joined(contents: readonly WireMessage['content'][]): Content {
  const parts = contents.flatMap((one): readonly Part[] => (typeof one === 'string' ? [{ type: 'text', text: one } as Part] : (one ?? [])));
  return parts.every(isText) ? parts.map(({ text }) => text).join('\n\n') : parts;
}

/** Returns a conversation in an order. A user who speaks after a result of a tool gets a word of the model first. */
export function ordered(messages: readonly WireMessage[], order: Order): readonly WireMessage[] {
  if (order === 'AsItCame') return messages;
  const [orders, rest] = [messages.filter(isOrder), messages.filter((message) => !isOrder(message))];
  const system = joined(orders.map(({ content }) => content));
  const first: WireMessage[] = orders.length > 0 ? [{ role: order === 'InTurn' ? 'system' : 'user', content: system }] : [];
  const all: [WireMessage, ...WireMessage[]][] = [];
  for (const message of [...first, ...rest]) {
    const last = all.at(-1);
    if (message.role === 'user' && last?.[0].role === 'user') last.push(message);
    else if (message.role === 'user' && last?.[0].role === 'tool') all.push([{ role: 'assistant', content: 'Noted.' }], [message]);
    else all.push([message]);
  }
  return all.map((run): WireMessage => (run.length === 1 ? run[0] : { ...run.at(-1), ...merged(run) }));
}

/** Several messages of a user as one. All are joined at once: there may be very many. */
const merged = (run: readonly WireMessage[]) => ({ role: 'user', content: joined(run.map(({ content }) => content)) }) as const;

const isOrder = ({ role }: WireMessage): boolean => role === 'system' || role === 'developer';

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
