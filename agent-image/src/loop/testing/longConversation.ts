import type { ConversationMessage } from '@agentfleet/protocol/chat';
import {
  planCompaction,
  summaryText,
  compactionDue,
  observationBound,
  promptTokens,
  reminder,
  roomOf,
  type Rendered,
  type Window,
} from '../context.ts';
import { observed } from '../observation.ts';
import { systemPrompt } from '../prompts.ts';
import type { WorkRecord } from '../workRecord.ts';

/** Nothing was done yet. */
export const emptyRecord: WorkRecord = { plan: [], changed: [], done: [], kept: new Set(), absent: () => [] };

/** The history after a compaction. */
export function compacted(history: readonly ConversationMessage[], count: number, text: string): readonly ConversationMessage[] {
  return [{ role: 'User', origin: 'Summary', text }, ...history.slice(count)];
}

/** Means by which a conversation is kept short. `Nothing`: output stands in it whole, and nothing is ever summarised. */
export type Keeping = 'Nothing' | 'Cut' | 'CutAndCompact';

/** One request of the conversation. */
export interface StepCost {
  readonly step: number;
  readonly promptTokens: number;
  /** Of these, those that were not at the same place in the request before: a provider's cache cannot have them. */
  readonly newTokens: number;
  readonly isCompaction: boolean;
}

const goal = 'Make parse() accept dates with a time zone, and keep the old format working.';
/** Tokens of output, step by step: mostly a look at a file, at times a log of a build. */
const sizes = [120, 300, 900, 80, 2200, 150, 400, 12_000, 60, 1500];

/** Plays a conversation of this many steps and counts the prompt of each request. Deterministic. */
export function longConversation(steps: number, window: Window, keeping: Keeping): readonly StepCost[] {
  const opening: ConversationMessage[] = [
    { role: 'System', text: systemPrompt },
    { role: 'User', origin: 'Goal', text: `Goal\n${goal}` },
  ];
  let history: readonly ConversationMessage[] = [];
  let before: readonly ConversationMessage[] = [];
  const costs: StepCost[] = [];
  const rendered = (): Rendered => ({ messages: [...opening, ...history], tools: [], window, correction: 1 });
  const send = (step: number, messages: readonly ConversationMessage[], isCompaction: boolean): void => {
    costs.push({
      step,
      promptTokens: promptTokens(messages, [], 1),
      newTokens: promptTokens(withoutPrefix(messages, before), [], 1),
      isCompaction,
    });
    before = messages;
  };
  for (let step = 1; step <= steps; step += 1) {
    const due = keeping === 'Nothing' ? null : reminder(history, { goal, constraints: [], left: [], plan: [] });
    if (due !== null) history = [...history, { role: 'User', origin: 'Notice', text: due }];
    if (keeping === 'CutAndCompact' && compactionDue(rendered())) {
      const { messages, request } = planCompaction(rendered(), emptyRecord);
      if (request !== null) send(step, request, true);
      history = compacted(
        history,
        messages,
        summaryText(rendered(), messages, 'What was done and found so far. '.repeat(120), emptyRecord),
      );
    }
    send(step, rendered().messages, false);
    const raw = `${step}: output of a command, line after line\n`.repeat(Math.ceil(((sizes[step % sizes.length] ?? 0) * 4) / 44));
    const { tokens } = observationBound(roomOf(rendered()), 1);
    history = [...history, ...stepOf(step, keeping === 'Nothing' ? raw : observed(raw, { tokens, handle: () => `out-${step}` }))];
  }
  return costs;
}

function stepOf(step: number, text: string): readonly ConversationMessage[] {
  const call = { id: `call-${step}`, name: 'bash', arguments: JSON.stringify({ command: `sed -n '${step},${step + 80}p' src/parse.py` }) };
  return [
    { role: 'Assistant', text: 'The failing case is in the next part, so I read it before I change anything.', calls: [call] },
    { role: 'Tool', callId: call.id, name: call.name, text },
  ];
}

function withoutPrefix(messages: readonly ConversationMessage[], before: readonly ConversationMessage[]): readonly ConversationMessage[] {
  const other = messages.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(before[at]));
  return other < 0 ? [] : messages.slice(other);
}

export function sumOf(costs: readonly StepCost[], key: 'promptTokens' | 'newTokens'): number {
  return costs.reduce((sum, cost) => sum + cost[key], 0);
}
