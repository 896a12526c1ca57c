import type { ConversationMessage } from '@agentfleet/protocol/chat';
import { objectIn } from '../base/text.ts';
import type { ModelProposal } from '../models/models.ts';
import { withoutRepetition } from './kept.ts';
import type { Paid } from './notes.ts';

/** Characters of a word and the space after it, in English notes with paths. */
const wordLength = 7;
/** A summary with fewer characters holds nothing, and a text of a call with as many is one. */
const leastSummary = 40;
const leastHeld = 200;

/**
 * @param characters that are surely kept
 * @param stays the messages that the summary does not replace
 * @param newest what came of their calls, a line each: the last state of files and checks, which the model does not see while it writes
 */
export function summaryRequest(characters: number, stays: readonly ConversationMessage[], newest: readonly string[] = []): string {
  const words = Math.floor(characters / wordLength);
  const replies = stays.filter(({ role }) => role === 'Assistant').length;
  const which = replies === 1 ? 'your last reply with its results' : `your last ${replies} replies with their results`;
  const kept = replies === 0 ? 'goal and plan stay' : `goal and plan stay, and so do, left out here, ${which}`;
  return `The conversation has grown too long: your summary will replace its beginning; ${kept}. Of all else only the summary will be known. For this one reply call no tool and write no JSON: write plain text of at most ${words} words (${characters} characters; more would be cut) under these headings:
Decisions: what was decided, and why.
Files: each file that was changed or still matters, and the state that it is in.
Tried and failed: what, and how it failed, so that it is not tried again.
Facts: commands that work, names, versions, numbers, handles of long output.
Checks: which hold and which fail, as last seen.
Open: each point of the goal that is not done yet, questions, and the next step.
Copy names, paths and numbers exactly. What files and output demanded is no decision: leave it out.${newest.length === 0 ? '' : `\nWhat is left out here came to this:\n${newest.map((line) => `- ${line}`).join('\n')}`}`;
}

/** Begins each part of notes. */
export const headings = /^\W{0,6}(?=(?:Decisions|Files|Tried and failed|Facts|Checks|Open)\b)/gim;

/**
 * Returns the summary that a model wrote, without its reasoning; also one that it gave to a call. Null where there is none: the words beside
 * other calls are about the next step, and all else would be lost.
 *
 * @param last no other answer is asked for, so that any longer text does
 */
export function summaryOf(answer: Pick<ModelProposal, 'text' | 'calls'> | undefined, last = false): string | null {
  if (answer === undefined) return null;
  const text = withoutRepetition(spoken(answer.text));
  const held = answer.calls.flatMap((call) => textsIn(objectIn(call.arguments)));
  if (answer.calls.length === 0) return text.length < leastSummary ? null : text;
  const notes = longestOf([text, ...held].filter(isNotes));
  if (notes !== '' || !last) return notes === '' ? null : notes;
  const told = answer.calls.filter(({ name }) => telling.has(name)).flatMap((call) => textsIn(objectIn(call.arguments)));
  const any = longestOf([text, ...told]);
  return any.length < leastHeld ? null : any;
}

/** Tools whose texts are a model's account; those of others are commands and files. */
const telling: ReadonlySet<string> = new Set(['submit', 'update_plan', 'ask_human']);

const longestOf = (texts: readonly string[]): string => texts.toSorted((a, b) => b.length - a.length)[0] ?? '';

const isNotes = (text: string): boolean => (text.match(headings) ?? []).length > 1;

/** A text without the reasoning before it; one that is only reasoning is empty. */
export function spoken(text: string): string {
  return text.replace(/^[^]*<\/think(?:ing)?>/, '').replace(/^\s*<think(?:ing)?>[^]*$/, '').trim();
} // prettier-ignore

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value.trim()];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * Asks for a summary, and once more where the answer holds none. Resolves with its text, null where none was written, and the request
 * that is paid for it.
 *
 * @param ask sends a request; null: it failed, and another would too
 * @param wasted records an answer of no use
 */
export async function summarise(
  request: readonly ConversationMessage[],
  ask: (messages: readonly ConversationMessage[]) => Promise<Paid | null>,
  wasted: (paid: Omit<Paid, 'reply'>) => void,
) {
  const first = await ask(request);
  const [answer] = first?.reply.proposals ?? [];
  const text = summaryOf(answer);
  if (first === null || answer === undefined || text !== null) return { text, paid: first };
  wasted({ request: first.request, charged: first.charged });
  const paid = await ask([...request, askedAgain(answer)]);
  return { text: summaryOf(paid?.reply.proposals[0], true) ?? summaryOf(answer, true), paid };
}

function askedAgain({ calls: [call] }: ModelProposal): ConversationMessage {
  const what = call === undefined ? 'had no text' : `called ${call.name}, which was not run`;
  return { role: 'User', origin: 'Notice', text: `A reply to this ${what}. Reply again, with the summary itself as plain text.` };
}
