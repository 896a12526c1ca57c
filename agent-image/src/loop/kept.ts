// What the model gets to see again of its replies and their results, where all of it would only make it go round. Pure.
import type { ToolCall } from '@agentfleet/protocol/chat';
import type { ModelProposal } from '../models/models.ts';
import { observed, textTokens } from './observation.ts';

/** Tokens of a reply that was cut off before a call, and of a result that is not shown twice. */
const cutTokens = 400;
const leastTwice = 150;
/** Replies in which a result is looked for. */
const recentReplies = 3;

/** Characters of the end of a text in which a repetition is looked for, and the longest part that repeats. */
const looked = 4000;
const longestPart = 800;
const leastTimes = 4;

/** A part that a text ends by repeating, and where the repetition begins. */
interface Repeated {
  readonly part: string;
  readonly from: number;
}

/** Finds the part that a text repeats without end, as models do that lost their way; null: none. */
export function repeatedIn(text: string): Repeated | null {
  const end = text.slice(-looked);
  for (let length = 1; length <= Math.min(longestPart, end.length / leastTimes); length += 1) {
    let same = 0;
    while (same < end.length - length && end[end.length - 1 - same] === end[end.length - 1 - same - length]) same += 1;
    if (same < Math.max(length * (leastTimes - 1), end.length / 2)) continue;
    let from = text.length - length;
    while (from > 0 && text[from - 1] === text[from - 1 + length]) from -= 1;
    return { part: text.slice(from, from + length), from };
  }
  return null;
}

/** A reply as it stays in the conversation: of one that was cut off before a call, its beginning and end; of none its repetition. */
export function keptReply({ text, calls, finish, providerState }: ModelProposal): Pick<ModelProposal, 'text' | 'calls'> {
  if (calls.length === 0) return { text: finish === 'Length' || isLoop(text) ? short(text) : text, calls };
  if (finish !== 'Length') return { text, calls };
  // A provider's signature may cover the calls.
  if (providerState !== undefined) return { text, calls };
  const one = ({ arguments: args, ...call }: ToolCall): ToolCall =>
    isLoop(args) ? { ...call, arguments: JSON.stringify({ unparsed: short(args) }) } : { ...call, arguments: args };
  return { text, calls: [...calls.slice(0, -1), ...calls.slice(-1).map(one)] };
}

/** Reports whether a text is long and ends by repeating itself. */
export const isLoop = (text: string): boolean => textTokens(text) > cutTokens && repeatedIn(text) !== null;

function short(text: string): string {
  if (textTokens(text) <= cutTokens) return text;
  return observed(withoutRepetition(text), { tokens: cutTokens, rest: 'cut off before a call' });
}

/** Returns a text with the part that it repeats without end once. */
export function withoutRepetition(text: string): string {
  const repeated = repeatedIn(text);
  return repeated === null ? text : `${text.slice(0, repeated.from + repeated.part.length)}\n[… the same again and again, cut off …]`;
}

/** A result of one of the last replies. */
export interface Result {
  readonly call: ToolCall | undefined;
  readonly text: string;
  readonly handle: string;
  readonly step: number;
}

/** A result as it stays in the conversation: one that the same call had a moment ago, word for word, is named. */
export function keptResult(result: Result, before: readonly Result[]): string {
  const { call, text, step } = result;
  if (call === undefined || textTokens(text) < leastTwice) return text;
  const same = before.find(
    (one) => one.step >= step - recentReplies && one.text === text && one.call?.name === call.name && one.call.arguments === call.arguments,
  );
  return same === undefined ? text : `[the same as ${same.handle}, the result that this call had a moment ago, word for word]`;
}
