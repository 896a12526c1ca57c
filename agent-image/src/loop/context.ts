import type { ConversationMessage, ToolDefinition } from '@agentfleet/protocol/chat';
import type { ChatModel } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../base/failure.ts';
import { shortened } from '../base/text.ts';
import type { PlanItem } from '../tools/tool.ts';
import { observationTokens, observed, textTokens, bytesPerToken, type Cut } from './observation.ts';
import { summaryRequest } from './summary.ts';
import { extract, outcomes, recordText, writtenIn, type WorkRecord } from './workRecord.ts';

/** The part of a chat model that bounds a conversation. */
export type Window = Pick<ChatModel, 'contextTokens' | 'maxOutputTokens'>;

/** Tokens for each token of the estimate, before a model reported any; above 1, because too few are worse than too many. */
export const initialCorrection = 1.2;
const correctionBounds = { least: 0.5, most: 4 };
const frameTokens = 4;
/** Share of the window, without the answer, at which a conversation is compacted. */
const compactionShare = 0.7;
/** Least tokens that System, goal and tools leave to the work. */
const leastRoom = 1500;
/** Share of the room that the observations of one step may take. */
const observedShare = 0.4;
const leastObservation = 150;

/** Steps after which the goal is repeated, and the fewest between two repetitions. */
const reminderSteps = 8;
const reminderGap = 3;
const reminderGoalTokens = 400;
/** Characters of the goal where the first message is not far. */
const reminderCharacters = 200;
const reminderHead = 'Reminder';

/** Tokens of a request's messages and tools, estimated by their length. */
export function promptTokens(messages: readonly ConversationMessage[], tools: readonly ToolDefinition[], correction: number): number {
  const asked = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const raw = messages.reduce((sum, message) => sum + rawTokens(message), tools.length === 0 ? 0 : textTokens(JSON.stringify(asked)));
  return Math.ceil(raw * correction);
}

function rawTokens(message: ConversationMessage): number {
  let text = message.text;
  if (message.role === 'Assistant') {
    text += message.calls.map((call) => `${call.id}${call.name}${call.arguments}`).join('');
    if (message.providerState !== undefined) text += JSON.stringify(message.providerState);
  }
  return frameTokens + textTokens(text);
}

/**
 * The correction after a reply: up at once, because a request that is too long is refused; down slowly.
 *
 * @param seen `estimated` was made with `correction`; `reported` is the provider's count of the same request
 */
export function corrected(correction: number, seen: { readonly estimated: number; readonly reported: number }): number {
  if (seen.estimated <= 0 || seen.reported <= 0) return correction;
  const exact = (correction * seen.reported) / seen.estimated;
  const next = exact > correction ? exact : 0.8 * correction + 0.2 * exact;
  return Math.min(correctionBounds.most, Math.max(correctionBounds.least, next));
}

/** Share of the estimate of a long prompt below which no count of it is true. */
const impossibleShare = 0.6;
const longPrompt = 3000;

/** Words about a server that seems to drop the beginning of prompts without a word, as Ollama does; empty: it does not. Takes what `corrected` takes. */
export function dropping(correction: number, seen: { readonly estimated: number; readonly reported: number }): string {
  const tokens = Math.round(seen.estimated / correction);
  if (seen.reported <= 0 || tokens < longPrompt || seen.reported >= tokens * impossibleShare) return '';
  return `; the server counted ${seen.reported} tokens of a prompt of about ${tokens}, so it may drop the beginning: set contextTokens to what it takes, or let it take more (Ollama: OLLAMA_CONTEXT_LENGTH)`;
}

/**
 * The correction after a provider refused a request as too long.
 *
 * @throws AttemptFailure InvalidInput ContextTooSmall: requests of a fraction of contextTokens were refused
 */
export function overflowed(correction: number, { contextTokens }: Window, expert: string): number {
  if (correction < correctionBounds.most) return Math.min(correctionBounds.most, correction * 1.3);
  throw new AttemptFailure(
    'InvalidInput',
    'ContextTooSmall',
    `the provider of expert ${expert} refuses requests as too long that are far below its contextTokens, ${contextTokens}: set contextTokens of the engine to what the model takes`,
  );
}

/** Tokens of a prompt from which on the conversation is compacted. */
export function compactionLimit({ contextTokens, maxOutputTokens }: Window): number {
  return Math.floor((contextTokens - maxOutputTokens) * compactionShare);
}

/** A conversation and what is sent with it. `messages` begin with System and goal. */
export interface Rendered {
  readonly messages: readonly ConversationMessage[];
  readonly tools: readonly ToolDefinition[];
  readonly window: Window;
  readonly correction: number;
}

/** Number of messages that are never replaced: System and goal. */
export const openingLength = 2;

/** Tokens that the history of a conversation may have: the limit without System, goal and tools. */
export function roomOf({ messages, tools, window, correction }: Rendered): number {
  return compactionLimit(window) - promptTokens(messages.slice(0, openingLength), tools, correction);
}

/** Reports whether the conversation has to be compacted before it is sent. */
export function compactionDue({ messages, tools, window, correction }: Rendered): boolean {
  return messages.length > openingLength && promptTokens(messages, tools, correction) >= compactionLimit(window);
}

/** @throws AttemptFailure InvalidInput ContextTooSmall: System, goal and tools leave no room for work */
export function assertFits(rendered: Rendered, expert: string): void {
  if (roomOf(rendered) >= leastRoom) return;
  const { messages, tools, window, correction } = rendered;
  const { contextTokens, maxOutputTokens } = window;
  const fixed = promptTokens(messages.slice(0, openingLength), tools, correction);
  const needed = Math.ceil((fixed + leastRoom) / compactionShare) + maxOutputTokens;
  throw new AttemptFailure(
    'InvalidInput',
    'ContextTooSmall',
    `the goal and the tools need about ${fixed} tokens; contextTokens of expert ${expert} is ${contextTokens}, of which ${maxOutputTokens} are kept for the answer (maxOutputTokens), and work needs ${needed}: shorten spec.goal in a new task, raise contextTokens of the engine, or choose a pool whose model has a larger context`,
  );
}

/**
 * Tokens of the next observation of a step, so that one step does not fill the window: what is left of its share, or half of that where
 * more calls follow. What short observations leave is for those after them. One that fits beside the least of the others is `whole`: a
 * file that was read is of more use than the ends of three.
 *
 * @param calls that have no observation yet, this one with them
 * @param used tokens of the observations before it
 */
export function observationBound(room: number, calls: number, used = 0): { readonly tokens: number; readonly whole: number } {
  const left = room * observedShare - used;
  const bound = (tokens: number): number => Math.max(leastObservation, Math.min(observationTokens, Math.floor(tokens)));
  return { tokens: bound(calls <= 1 ? left : left / 2), whole: bound(left - leastObservation * (calls - 1)) };
}

interface Reminded {
  readonly goal: string;
  /** As `constraintsOf` returns them. */
  readonly constraints: readonly string[];
  /** Rest of the budget, a line each; empty: it is not bounded. */
  readonly left: readonly string[];
  readonly plan: readonly PlanItem[];
}

/**
 * A notice at the end of the conversation with the open plan and the goal in short; with goal and limits the first time after a
 * summary replaced a part of it. Null when none is due. It is due every 8 steps, and after a step whose output is long enough to push an
 * open plan out of sight. Append it once, as a Notice.
 */
export function reminder(history: readonly ConversationMessage[], reminded: Reminded): string | null {
  const steps = stepsSinceReminder(history);
  if (steps < reminderGap) return null;
  const open = openPlan(reminded.plan);
  const due = steps >= reminderSteps || (open !== '' && observedTokens(history) >= observationTokens * 0.9);
  const isCut = history.findLastIndex(isSummary) > history.findLastIndex(isReminder);
  return due ? reminderText(reminded, open, isCut) : null;
}

function reminderText({ goal, constraints, left }: Reminded, open: string, isCut: boolean): string {
  const limits = [...(isCut ? constraints : []), ...left];
  const parts = [
    `${reminderHead}: nothing new is asked. Go on; submit only when all of the goal is reached.`,
    isCut
      ? `Goal\n${observed(goal.trim(), { tokens: reminderGoalTokens, rest: 'the first message has the whole goal' })}`
      : goalInShort(goal.trim().replaceAll(/\s+/g, ' ')),
  ];
  if (limits.length > 0) parts.push(`Limits\n${limits.map((line) => `- ${line}`).join('\n')}`);
  if (open !== '') parts.push(open);
  return parts.join('\n\n');
}

/** A short goal whole; of a longer one the sentences at its beginning that fit, and where it stands. */
function goalInShort(goal: string): string {
  if (goal.length <= reminderCharacters) return `Goal: ${goal}`;
  const begins = new RegExp(`^.{1,${reminderCharacters}}[.!?](?= )`).exec(goal)?.[0];
  const where = 'the first message has it whole, with the limits';
  return begins === undefined ? `Goal: ${where}.` : `Goal, its beginning (${where}): ${begins}`;
}

const doneCharacters = 60;

/** A plan with what is done in short; empty when nothing is open. */
function openPlan(plan: readonly PlanItem[]): string {
  const open = plan.filter(({ state }) => state !== 'Done');
  if (open.length === 0) return '';
  const done = plan.filter(({ state }) => state === 'Done').map(({ text }) => `- (done) ${shortened(text, doneCharacters)}`);
  const lines = open.map(({ text, state }) => `- ${state === 'Active' ? '(now) ' : ''}${text}`);
  return `Open plan\n${[...done, ...lines].join('\n')}`;
}

const isSummary = (message: ConversationMessage): boolean => message.role === 'User' && message.origin === 'Summary';
const isReminder = (message: ConversationMessage): boolean =>
  message.role === 'User' && message.origin === 'Notice' && message.text.startsWith(reminderHead);

/** Replies since goal and plan were last at the end of the conversation. */
function stepsSinceReminder(history: readonly ConversationMessage[]): number {
  const last = history.findLastIndex((message) => isSummary(message) || isReminder(message));
  return history.slice(last + 1).filter(({ role }) => role === 'Assistant').length;
}

/** Tokens of the observations of the last step, before correction. */
export function observedTokens(history: readonly ConversationMessage[]): number {
  const last = history.findLastIndex(({ role }) => role === 'Assistant');
  return history.slice(last + 1).reduce((sum, message) => sum + (message.role === 'Tool' ? textTokens(message.text) : 0), 0);
}

/** Shares of the room of a conversation that its parts may have after a compaction; together below 1. */
const shares = { tail: 0.25, lastStep: 0.52, summary: 0.25, people: 0.08, plan: 0.05, record: 0.08 };
const summaryTokens = 2000;
/** Share of the bound of a summary that is named to the model: it counts roughly. */
const answerShare = 0.8;
/** Tokens of an observation in a request for a summary that is too long with whole ones. */
const shortObservation = 400;
const personTokens = 12;

const summaryHead =
  'Summary of the work so far. The conversation grew too long, and these notes of yours replace its beginning. They are no order: the goal still holds, and where they and the record differ, the record is right.';
const personHead = 'Message of a person, still valid: ';

/** Plan of a compaction: the messages that give way, and the request for what replaces them. */
interface Compaction {
  /** The first messages of the history that give way; never splits a call from its observation. */
  readonly messages: number;
  /** Asks the model for the summary; null when even that is too long, and the fallback is used. Its calls are not run. */
  readonly request: readonly ConversationMessage[] | null;
  readonly maxOutputTokens: number;
}

/**
 * Plans a compaction of `messages`, which begin with System and goal. Pure.
 *
 * @param handleOf what reads an observation whole, for requests that show it in short
 */
export function planCompaction(rendered: Rendered, record: Pick<WorkRecord, 'done'>, handleOf: HandleOf = () => undefined): Compaction {
  const { messages, window, correction } = rendered;
  const history = messages.slice(openingLength);
  const room = roomOf(rendered);
  const count = history.length - tailLength(history, room / correction);
  const bound = summaryBound(rendered);
  // The bound is of the text that is kept; a model that thinks first needs more to get there.
  const maxOutputTokens = Math.min(window.maxOutputTokens, 2 * bound);
  const wanted = Math.min(bound, maxOutputTokens) * answerShare;
  const ask: ConversationMessage = {
    role: 'User',
    origin: 'Notice',
    text: summaryRequest(Math.floor((wanted / correction) * bytesPerToken), history.slice(count), outcomes(record, history.slice(count))),
  };
  const older = messages.slice(0, openingLength + count);
  // The same prefix as before, so that the provider has it cached.
  const request = [
    [...older, ask],
    [...older.map((message) => inShort(message, handleOf)), ask],
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
 * @param said what the model answered, by `summaryOf`; null: an extract of the record
 * @param keep how a summary that is too long is kept whole
 */
export function summaryText(
  rendered: Rendered,
  count: number,
  said: string | null,
  record: WorkRecord,
  keep?: (text: string) => Pick<Cut, 'handle'>,
): string {
  const { correction } = rendered;
  const room = roomOf(rendered);
  const older = rendered.messages.slice(openingLength, openingLength + count);
  const bound = (share: number): number => Math.max(50, Math.floor(room * share));
  const tokens = summaryBound(rendered);
  const before = writtenIn(notesOf(older));
  const notes = said === null ? extract(record, before, tokens / correction) : withEarlier(said, before, tokens / correction);
  const handle = said === null || keep === undefined ? {} : keep(said);
  const people = newestWithin(peopleOf(older), bound(shares.people) / correction);
  const recorded = recordText(record, said === null ? before : notes, bound(shares.record) / correction);
  const open = openPlan(record.plan);
  return [
    summaryHead,
    people.map((text) => `${personHead}${JSON.stringify(text)}`).join('\n'),
    recorded === '' ? '' : `Record\n${recorded}`,
    // The model wrote this part after data that others wrote; the lines above it come from the loop.
    `Notes\n${observed(notes, { tokens, correction, ...handle })}`,
    open === '' ? '' : observed(open, { tokens: bound(shares.plan), correction }),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Share of the notes before them below which notes are thin, as small models write them the second time: all else would be forgotten. */
const thinShare = 0.5;

const beforeHead = '\n\nFrom the notes before these, where nothing above is newer:\n';

/** Notes, and behind thin ones as much as fits of those that they replace: the longest, where these had some behind them already. */
function withEarlier(said: string, before: string, tokens: number): string {
  const left = tokens - textTokens(said) - 2 * personTokens;
  const [full = ''] = before.split(beforeHead).toSorted((a, b) => b.length - a.length);
  if (said.length >= full.length * thinShare || left < leastObservation / 2) return said;
  return `${said}${beforeHead}${observed(full, { tokens: left })}`;
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

/** Index of the message that the step before `end` begins with: a reply, its observations and what was said after them are one step. */
function stepStart(history: readonly ConversationMessage[], end: number): number {
  let start = end - 1;
  while (start > 0 && history[start]?.role !== 'Assistant') start -= 1;
  return start;
}

/** Returns the handle that reads an observation whole; undefined: none does. */
type HandleOf = (message: ConversationMessage) => string | undefined;

function inShort(message: ConversationMessage, handleOf: HandleOf): ConversationMessage {
  if (message.role !== 'Tool') return message;
  const handle = handleOf(message);
  return { ...message, text: observed(message.text, { tokens: shortObservation, ...(handle !== undefined && { handle: () => handle }) }) };
}

function fits(messages: readonly ConversationMessage[], { tools, window, correction }: Rendered, output: number): boolean {
  return promptTokens(messages, tools, correction) + output <= window.contextTokens * 0.95;
}

/** Lists the orders of persons in these messages, oldest first; a summary has the orders of those that it replaced. */
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
