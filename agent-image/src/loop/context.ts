import type { ConversationMessage, ToolDefinition } from '@agentfleet/protocol/chat';
import type { ChatModel } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../attempt/failure.ts';
import type { PlanItem } from '../tools/tool.ts';
import { observationTokens, observed, textTokens } from './observation.ts';

/** The part of a chat model that bounds a conversation. */
export type Window = Pick<ChatModel, 'contextTokens' | 'maxOutputTokens'>;

/** Tokens for each token of the estimate, before a model reported any; above 1, because too few are worse than too many. */
export const initialCorrection = 1.2;
const correctionBounds = { least: 0.5, most: 4 };
/** Tokens that frame a message. */
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
const reminderGoalTokens = 600;
const reminderHead = 'Reminder';

/** Tokens of a request's messages and tools, estimated by their length. */
export function promptTokens(messages: readonly ConversationMessage[], tools: readonly ToolDefinition[], correction: number): number {
  const asked = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const raw = messages.reduce((sum, message) => sum + rawTokens(message), tools.length === 0 ? 0 : textTokens(JSON.stringify(asked)));
  return Math.ceil(raw * correction);
}

/** Tokens of one message, before correction. */
export function rawTokens(message: ConversationMessage): number {
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

/** Whether the conversation has to be compacted before it is sent. */
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
    `the goal and the tools need about ${fixed} tokens; contextTokens of expert ${expert} is ${contextTokens}, of which ${maxOutputTokens} are kept for the answer (maxOutputTokens), and work needs ${needed}: shorten spec.goal, raise contextTokens of the engine, or choose a pool whose model has a larger context`,
  );
}

/**
 * Tokens of the next observation of a step, so that one step does not fill the window: an equal part of what is left of its
 * share, or half of that where more calls follow. What short observations leave is for those after them.
 *
 * @param calls that have no observation yet, this one with them
 * @param used tokens of the observations before it
 */
export function observationBound(room: number, calls: number, used = 0): number {
  const left = room * observedShare - used;
  return Math.max(leastObservation, Math.min(observationTokens, Math.floor(calls <= 1 ? left : left / 2)));
}

/** What a reminder repeats. */
export interface Reminded {
  readonly goal: string;
  /** As `constraintsOf` returns them. */
  readonly constraints: readonly string[];
  readonly plan: readonly PlanItem[];
}

/**
 * A notice that repeats goal, limits and open plan at the end of the conversation; null when none is due. It is due every 8
 * steps, and after a step whose output is long enough to push the plan out of sight. Append it once, as a Notice.
 */
export function reminder(history: readonly ConversationMessage[], reminded: Reminded): string | null {
  const steps = stepsSinceReminder(history);
  if (steps < reminderGap) return null;
  const due = steps >= reminderSteps || observedTokens(history) >= observationTokens * 0.9;
  return due ? reminderText(reminded) : null;
}

function reminderText({ goal, constraints, plan }: Reminded): string {
  const parts = [
    `${reminderHead}: nothing new is asked. Go on, or submit when the goal is reached.`,
    `Goal\n${observed(goal.trim(), { tokens: reminderGoalTokens })}`,
  ];
  if (constraints.length > 0) parts.push(`Limits\n${constraints.map((line) => `- ${line}`).join('\n')}`);
  const open = openPlan(plan);
  if (open !== '') parts.push(open);
  return parts.join('\n\n');
}

/** The items of a plan that are not done; empty when there are none. */
export function openPlan(plan: readonly PlanItem[]): string {
  const open = plan.filter(({ state }) => state !== 'Done');
  if (open.length === 0) return '';
  const done = plan.length - open.length;
  const lines = open.map(({ text, state }) => `- ${state === 'Active' ? '(now) ' : ''}${text}`);
  return `Open plan${done > 0 ? ` (${done} of ${plan.length} done)` : ''}\n${lines.join('\n')}`;
}

/** Replies since goal and plan were last at the end of the conversation. */
function stepsSinceReminder(history: readonly ConversationMessage[]): number {
  const last = history.findLastIndex(
    (message) => message.role === 'User' && (message.origin === 'Summary' || message.text.startsWith(reminderHead)),
  );
  return history.slice(last + 1).filter(({ role }) => role === 'Assistant').length;
}

/** Tokens of the observations of the last step, before correction. */
export function observedTokens(history: readonly ConversationMessage[]): number {
  const last = history.findLastIndex(({ role }) => role === 'Assistant');
  return history.slice(last + 1).reduce((sum, message) => sum + (message.role === 'Tool' ? textTokens(message.text) : 0), 0);
}
