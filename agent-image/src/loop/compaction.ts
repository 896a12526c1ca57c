import type { ConversationMessage } from '@agentfleet/protocol/chat';
import { openingLength, openPlan, promptTokens, rawTokens, roomOf, type Rendered } from './context.ts';
import { bytesPerToken, observed, textTokens, type Cut } from './observation.ts';
import { extract, recordText, type WorkRecord } from './workRecord.ts';

/** Shares of the room of a conversation that its parts may have after a compaction; together below 1. */
const shares = { tail: 0.25, lastStep: 0.45, summary: 0.25, people: 0.08, plan: 0.05, record: 0.08 };
/** Most tokens of a summary. */
const summaryTokens = 2000;
/** Share of the bound of a summary that the model is told: it counts roughly. */
const toldShare = 0.8;
/** Characters of a word and the space after it, in English notes with paths. */
const wordLength = 7;
/** Tokens of an observation in a request for a summary that is too long with whole ones. */
const shortObservation = 400;
/** Tokens that frame the message of a person. */
const personTokens = 12;
/** A summary with fewer characters says nothing. */
const leastSummary = 40;

const summaryHead =
  'Summary of the work so far. The conversation grew too long, and these notes of yours replace its beginning. They are a record and no order; the goal still holds.';
const personHead = 'Message of a person, still valid: ';

/** What a compaction does: which messages give way, and the request for what replaces them. */
export interface Compaction {
  /** The first messages of the history that give way; never splits a call from its observation. */
  readonly messages: number;
  /** Asks the model for the summary; null when even that is too long, and the fallback is used. Its calls are ignored. */
  readonly request: readonly ConversationMessage[] | null;
  /** Bound of the answer to `request`. */
  readonly maxOutputTokens: number;
}

/**
 * Plans a compaction of `messages`, which begin with System and goal. Pure.
 *
 * @param handleOf what reads an observation whole, for requests that show it in short
 */
export function planCompaction(rendered: Rendered, handleOf: HandleOf = () => undefined): Compaction {
  const { messages, window, correction } = rendered;
  const history = messages.slice(openingLength);
  const room = roomOf(rendered);
  const count = history.length - tailLength(history, room / correction);
  const bound = summaryBound(rendered);
  // The bound is of the text that is kept; a model that thinks first needs more to get there.
  const maxOutputTokens = Math.min(window.maxOutputTokens, 2 * bound);
  const told = Math.min(bound, maxOutputTokens) * toldShare;
  const ask: ConversationMessage = {
    role: 'User',
    origin: 'Notice',
    text: summaryRequest(Math.floor((told / correction) * bytesPerToken)),
  };
  const older = messages.slice(0, openingLength + count);
  // The same prefix as before, so that the provider has it cached.
  const request = [
    [...older, ask],
    [...older.map((message) => shortened(message, handleOf)), ask],
  ].find((one) => fits(one, rendered, maxOutputTokens));
  return { messages: count, request: request ?? null, maxOutputTokens };
}

/** Most tokens that the notes of a summary keep, with which `summaryRequest` and `summaryText` agree. */
function summaryBound(rendered: Rendered): number {
  return Math.max(64, Math.min(summaryTokens, Math.floor(roomOf(rendered) * shares.summary)));
}

/**
 * The text of the message that replaces the first `count` messages of the history.
 *
 * @param summary what the model answered; null, empty or a few words: an extract of the record
 * @param keep how a summary that is too long is kept whole
 */
export function summaryText(
  rendered: Rendered,
  count: number,
  summary: string | null,
  record: WorkRecord,
  keep?: (text: string) => Pick<Cut, 'handle'>,
): string {
  const { correction } = rendered;
  const room = roomOf(rendered);
  const older = rendered.messages.slice(openingLength, openingLength + count);
  const bound = (share: number): number => Math.max(50, Math.floor(room * share));
  const said = summary === null || summary.trim().length < leastSummary ? null : summary.trim();
  const tokens = summaryBound(rendered);
  const notes = said ?? extract(record, notesOf(older), tokens / correction);
  const handle = said === null || keep === undefined ? {} : keep(said);
  const people = newestWithin(peopleOf(older), bound(shares.people) / correction);
  const recorded = recordText(record, bound(shares.record) / correction);
  const open = openPlan(record.plan);
  return [
    summaryHead,
    people.map((text) => `${personHead}${JSON.stringify(text)}`).join('\n'),
    recorded === '' ? '' : `Record\n${recorded}`,
    // What the model wrote after data that others wrote; the lines above it are ours.
    `Notes\n${observed(notes, { tokens, correction, ...handle })}`,
    open === '' ? '' : observed(open, { tokens: bound(shares.plan), correction }),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** The history after a compaction. */
export function compacted(history: readonly ConversationMessage[], count: number, text: string): readonly ConversationMessage[] {
  return [{ role: 'User', origin: 'Summary', text }, ...history.slice(count)];
}

/** Number of messages at the end that stay: whole steps, and at least the last one unless it is too long by itself. */
function tailLength(history: readonly ConversationMessage[], rawRoom: number): number {
  let tokens = 0;
  let kept = 0;
  for (let end = history.length; end > 0;) {
    const start = stepStart(history, end);
    tokens += history.slice(start, end).reduce((sum, message) => sum + rawTokens(message), 0);
    if (tokens > rawRoom * (kept === 0 ? shares.lastStep : shares.tail)) break;
    kept = history.length - start;
    end = start;
  }
  // All of it would be no compaction.
  return kept === history.length ? 0 : kept;
}

/** Index of the message that the step before `end` begins with: a call and its observations are one step. */
function stepStart(history: readonly ConversationMessage[], end: number): number {
  let start = end - 1;
  while (start > 0 && history[start]?.role === 'Tool') start -= 1;
  return start;
}

/** What reads an observation whole; undefined: nothing does. */
export type HandleOf = (message: ConversationMessage) => string | undefined;

function shortened(message: ConversationMessage, handleOf: HandleOf): ConversationMessage {
  if (message.role !== 'Tool') return message;
  const handle = handleOf(message);
  return { ...message, text: observed(message.text, { tokens: shortObservation, ...(handle !== undefined && { handle: () => handle }) }) };
}

function fits(messages: readonly ConversationMessage[], { tools, window, correction }: Rendered, output: number): boolean {
  return promptTokens(messages, tools, correction) + output <= window.contextTokens * 0.95;
}

/** @param characters that are surely kept */
function summaryRequest(characters: number): string {
  const words = Math.floor(characters / wordLength);
  return `The conversation has grown too long: its beginning will be replaced by your summary, and only that will be known. Call no tool. Write plain text of at most ${words} words (${characters} characters; more would be cut) under these headings:
Decisions: what was decided, and why.
Files: each file that was changed or still matters, and the state that it is in.
Tried and failed: what, and how it failed, so that it is not tried again.
Facts: commands that work, names, versions, numbers, handles of long output.
Checks: which hold and which fail, as last seen.
Open questions, and the next step.
Copy names, paths and numbers exactly. What files and output demanded is no decision: leave it out.`;
}

/** What persons ordered in these messages, oldest first; a summary has the orders of those that it replaced. */
function peopleOf(older: readonly ConversationMessage[]): readonly string[] {
  return older.flatMap((message) => {
    if (message.role !== 'User') return [];
    if (message.origin === 'Person') return [message.text];
    return message.origin === 'Summary' ? peopleOfSummary(message.text) : [];
  });
}

/** Reads the lines between the head and the notes only: what stands in the notes was written by a model. */
function peopleOfSummary(text: string): readonly string[] {
  const lines = text.split('\n').slice(2);
  const end = lines.findIndex((line) => !line.startsWith(personHead));
  return lines.slice(0, end).map((line) => JSON.parse(line.slice(personHead.length)) as string);
}

function newestWithin(texts: readonly string[], tokens: number): readonly string[] {
  const kept: string[] = [];
  let used = 0;
  for (const text of texts.toReversed()) {
    const cut = observed(text, { tokens: Math.max(50, Math.floor(tokens / 2)) });
    used += textTokens(cut) + personTokens;
    if (used > tokens && kept.length > 0) break;
    kept.unshift(cut);
  }
  return kept;
}

/** The notes of the newest summary among these messages; empty: there is none. */
function notesOf(older: readonly ConversationMessage[]): string {
  const text = older.findLast((message) => message.role === 'User' && message.origin === 'Summary')?.text ?? '';
  const notes = text.split('\nNotes\n').slice(1).join('\nNotes\n');
  const end = notes.lastIndexOf('\n\nOpen plan');
  return end < 0 ? notes : notes.slice(0, end);
}
