// protocol, chat: recorded conversations and their replay. Imports nothing of other folders.
import { Type, type Static } from 'typebox';
import { ChatCompletion, WireMessage, type ChatRequest } from './wire.ts';
import { closed } from '../object.ts';

const Exchange = closed({
  request: closed({
    same: Type.Optional(
      Type.Integer({ minimum: 0, description: 'how many messages of the exchange before this one begins with; default 0' }),
    ),
    messages: Type.Array(WireMessage, { description: 'those after them' }),
    tools: Type.Array(Type.String(), { description: 'names, in the order of the request' }),
  }),
  response: ChatCompletion,
});

/** A recorded conversation: the file that an engine `Replay` plays. */
export const Conversation = closed({
  format: Type.Literal('agentfleet.dev/conversation/v1'),
  description: Type.Optional(Type.String({ description: 'for people' })),
  exchanges: Type.Array(Exchange, { minItems: 1 }),
});
export type Conversation = Static<typeof Conversation>;

/** One request with all its messages, and its answer. */
export interface RecordedExchange {
  readonly messages: readonly WireMessage[];
  readonly tools: readonly string[];
  readonly response: ChatCompletion;
}

/**
 * Differences that two runs of one conversation may have, and no others: times, durations, ids and addresses that a machine gives
 * out, temporary names, the programs of an image, the window and the reply of a pool's model. In this order; each match of the left becomes the right.
 */
export const runsDifferIn: readonly (readonly [pattern: RegExp, shown: string])[] = [
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|UTC|[+-]\d\d:?\d\d))?/g, '<time>'],
  [
    /\b((Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?((Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d\d?|\d\d? (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))\s+(\d{4} )?\d\d:\d\d(:\d\d)?( UTC)?( \d{4})?/g,
    '<time>',
  ],
  [/\b\d\d:\d\d:\d\d([.,]\d+)?\b/g, '<time>'],
  [/\b(duration_ms|durationMs|elapsed|real|user|sys)([ :=\t]+)\d+(\.\d+)?(m\d+(\.\d+)?s)?/g, '$1$2<duration>'],
  [/(?<![\w.])\d+(\.\d+)?\s?(ns|µs|us|ms|s|sec|secs|seconds?|min|minutes?)\b/g, '<duration>'],
  [/\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b/g, '<id>'],
  [/\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b/g, '<id>'],
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b/g, '<id>'],
  [/0x[0-9a-f]{6,16}\b/g, '<address>'],
  [/\b(pid|PID|process)([ :=]+)\d+/g, '$1$2<pid>'],
  [/\b(localhost|127\.0\.0\.1|\[::1\]):\d{4,5}\b/g, '$1:<port>'],
  [/\/tmp\/[\w.-]+/g, '/tmp/<name>'],
  [/^- Programs: .*$/gm, '- Programs: <programs>'],
  [/^- Your window has [\d,]+ tokens\./gm, '- Your window has <window> tokens.'],
  [/^(- A reply may have \d+ calls and) [\d,]+ tokens/gm, '$1 <reply> tokens'],
];

/** A text less what runs may differ in. Pure. */
export function normalText(text: string): string {
  return runsDifferIn.reduce((left, [pattern, shown]) => left.replace(pattern, shown), text);
}

/** Parts of a message that count: its role, text and calls; ids and states of providers do not. */
interface NormalMessage {
  readonly role: string;
  readonly text: string;
}

/** Pure. Calls stand after the text, one a line. */
export function normalMessage({ role, content, tool_calls: calls = [] }: WireMessage): NormalMessage {
  const text = typeof content === 'string' ? content : (content ?? []).map((part) => partText(part)).join('');
  const called = calls.map(({ function: { name, arguments: args } }) => `\n${name}(${args})`);
  return { role, text: normalText(text + called.join('')) };
}

function partText(part: { readonly type: string }): string {
  if (part.type === 'thinking' || part.type === 'redacted_thinking') return '';
  return 'text' in part && typeof part.text === 'string' ? part.text : `[${part.type}]`;
}

/** The exchanges of a conversation, each with all its messages. Pure. */
export function exchangesOf({ exchanges }: Conversation): readonly RecordedExchange[] {
  let before: readonly WireMessage[] = [];
  return exchanges.map(({ request: { same = 0, messages, tools }, response }) => {
    before = [...before.slice(0, same), ...messages];
    return { messages: before, tools, response };
  });
}

/** A conversation as its file has it: what an exchange repeats of the one before is left out. Pure. */
export function conversationOf(exchanges: readonly RecordedExchange[], description?: string): Conversation {
  let before: readonly WireMessage[] = [];
  const kept = exchanges.map(({ messages, tools, response }) => {
    const differs = messages.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(before[at]));
    const same = differs === -1 ? messages.length : differs;
    before = messages;
    return { request: { same, messages: messages.slice(same), tools: [...tools] }, response };
  });
  return { format: 'agentfleet.dev/conversation/v1', ...(description !== undefined && { description }), exchanges: kept };
}

/** Answer of a record: the recorded one, or why there is none. */
export type Played =
  | { readonly type: 'Answer'; readonly response: ChatCompletion }
  /** The conversation goes on, the recording does not. */
  | { readonly type: 'Ended'; readonly message: string }
  | { readonly type: 'Mismatch'; readonly message: string };

/** An exchange that may be the one that a request asks for. */
interface Candidate {
  readonly name: string;
  readonly exchange: RecordedExchange;
  readonly normal: readonly NormalMessage[];
  /** Of its conversation, and how many there are. */
  readonly at: number;
  readonly of: number;
  /** Messages that it has in common with the request, from the first on. */
  readonly common: number;
}

/**
 * The recorded answer to a request. Which of several conversations it belongs to is decided by its first message of a user; the
 * exchange is the one whose messages equal those of the request. Pure.
 *
 * @param conversations by name
 */
export function play(conversations: ReadonlyMap<string, Conversation>, { messages, tools = [] }: ChatRequest): Played {
  const asked = messages.map(normalMessage);
  const ranked = candidatesOf(conversations, asked);
  const names = tools.map(({ function: { name } }) => name);
  const whole = ranked.filter(({ normal, common }) => common === asked.length && normal.length === asked.length);
  const exact = whole.find(({ exchange }) => exchange.tools.join() === names.join());
  if (exact !== undefined) return { type: 'Answer', response: exact.exchange.response };
  const [best] = whole.length > 0 ? whole : ranked;
  if (best === undefined) return { type: 'Mismatch', message: unknownGoal(firstUser(asked), [...conversations.keys()]) };
  if (whole.length === 0) return differing(best, asked);
  const difference = `its tools are ${best.exchange.tools.join(', ') || 'none'}, the request has ${names.join(', ') || 'none'}`;
  return { type: 'Mismatch', message: `${placeOf(best)}: ${difference}` };
}

/** Exchanges of the conversations with the goal of a request, those that have most in common with it first. */
function candidatesOf(conversations: ReadonlyMap<string, Conversation>, asked: readonly NormalMessage[]): readonly Candidate[] {
  const goal = firstUser(asked);
  const known = new Map<WireMessage, NormalMessage>();
  const normalOf = (message: WireMessage): NormalMessage => {
    const normal = known.get(message) ?? normalMessage(message);
    known.set(message, normal);
    return normal;
  };
  const farOf = ({ normal }: Candidate): number => Math.abs(normal.length - asked.length);
  return [...conversations]
    .flatMap(([name, conversation]): readonly Candidate[] => {
      const exchanges = exchangesOf(conversation);
      if (firstUser((exchanges[0]?.messages ?? []).map(normalOf)) !== goal) return [];
      return exchanges.map((exchange, at) => {
        const normal = exchange.messages.map(normalOf);
        return { name, exchange, normal, at, of: exchanges.length, common: commonOf(normal, asked) };
      });
    })
    .sort((a, b) => b.common - a.common || farOf(a) - farOf(b));
}

function placeOf({ name, at, of }: Candidate): string {
  return `recording ${name}, exchange ${at + 1} of ${of}`;
}

function firstUser(messages: readonly NormalMessage[]): string | undefined {
  return messages.find(({ role }) => role === 'user')?.text;
}

function unknownGoal(goal: string | undefined, names: readonly string[]): string {
  return `no recording begins with this message of the user: ${quote(goal ?? '', 0)}; there are ${names.join(', ') || 'none'}`;
}

/** Returns the number of messages that two lists have in common from their beginning. */
function commonOf(a: readonly NormalMessage[], b: readonly NormalMessage[]): number {
  const differs = a.findIndex(({ role, text }, at) => b[at]?.role !== role || b[at].text !== text);
  return differs === -1 ? a.length : differs;
}

function differing(best: Candidate, asked: readonly NormalMessage[]): Played {
  const { normal, common, at, of } = best;
  const [expected, got] = [normal[common], asked[common]];
  const mismatch = (what: string): Played => ({ type: 'Mismatch', message: `${placeOf(best)}: ${what}` });
  if (expected === undefined) {
    const more = `the recording has no request that goes on with message ${common} (${got?.role}): ${quote(got?.text ?? '', 0)}`;
    return at + 1 === of ? { type: 'Ended', message: `${placeOf(best)}: ${more}` } : mismatch(more);
  }
  if (got === undefined) return mismatch(`the request ends before message ${common} (${expected.role}): ${quote(expected.text, 0)}`);
  const from = expected.role === got.role ? firstDifference(expected.text, got.text) : 0;
  const roles = expected.role === got.role ? got.role : `${got.role} in place of ${expected.role}`;
  const texts = `recorded ${quote(expected.text, from)}, got ${quote(got.text, from)}`;
  return mismatch(`message ${common} (${roles}) differs at character ${from}: ${texts}`);
}

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

/** A piece of a text around a place. */
function quote(text: string, around: number): string {
  const from = Math.max(0, around - 30);
  return JSON.stringify(`${from > 0 ? '…' : ''}${text.slice(from, around + 90)}${text.length > around + 90 ? '…' : ''}`);
}
