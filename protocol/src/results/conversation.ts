import type { TokenUsage, ToolCall } from '../chat/index.ts';
import type { AuditRecord } from '../keeper/index.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../text/index.ts';

/** Event of a task, for people who follow it. */
export type ConversationEvent =
  /** A conversation with a model began. */
  | { readonly type: 'Began'; readonly expert: string; readonly system: string; readonly goal: string; readonly tools: readonly string[] }
  /** The reply of the model that is acted on; of how many proposals it was chosen. */
  | {
      readonly type: 'Assistant';
      readonly step: number;
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly proposals: number;
      readonly usage?: TokenUsage;
      /** Millionths of the pool's currency; absent where no price is known. */
      readonly costMicros?: number;
    }
  /** Result of one call. `refused`: the rule that refused it. `notRun`: it was left out. */
  | {
      readonly type: 'Observation';
      readonly step: number;
      readonly callId: string;
      readonly tool: string;
      readonly text: string;
      readonly ok: boolean;
      readonly refused?: string;
      readonly notRun?: true;
    }
  /** A message to the model that it did not write: of the fleet, of a person, or the summary of older ones. */
  | { readonly type: 'User'; readonly step: number; readonly origin: 'Notice' | 'Person' | 'Summary'; readonly text: string }
  /** The tree is that after `toStep` again; what came after it was taken back. */
  | { readonly type: 'Rewound'; readonly step: number; readonly toStep: number }
  /** Decision of a person, or the lack of one in time. */
  | {
      readonly type: 'Decision';
      readonly decision: 'Approved' | 'Rejected' | 'Answered' | 'Unanswered';
      readonly action: string;
      readonly summary: string;
      readonly requester?: string;
      readonly why?: string;
      readonly answer?: string;
    }
  | { readonly type: 'Snapshot'; readonly id: string; readonly label: string }
  | { readonly type: 'Restored'; readonly id: string; readonly verified: boolean }
  /** Anything else that the worker noted: candidates of a search, baseline, outcome of an attempt … */
  | { readonly type: 'Note'; readonly kind: string; readonly data: Readonly<Record<string, unknown>> }
  /** The answer ends here for its length and goes on: ask again with `since` = `seq`. */
  | { readonly type: 'Pause' };

/** One line of the conversation; `seq` is that of the record of the event log, `at` its time. */
export type ConversationEntry = ConversationEvent & { readonly seq: number; readonly at: string };

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
const given = (name: string, value: unknown): Fields => (typeof value === 'string' && value !== '' ? { [name]: value } : {});

/** Notes that say nothing to people: requests that are open, and texts that an observation refers to. */
const silent = new Set(['ModelAsked', 'TextKept', 'ControlStep']);
const decisions = new Set(['Approved', 'Rejected', 'Answered', 'Unanswered']);

/** Reads a conversation out of an event log, record by record, from the first one on: a reply is shown once it was chosen. */
export class Conversation {
  #replies: { readonly step: number; readonly proposals: readonly Fields[]; readonly charged: Fields }[] = [];

  /** The entry that a record makes; undefined: nothing that belongs here. */
  read({ seq, at, type, body }: Pick<AuditRecord, 'seq' | 'at' | 'type' | 'body'>): ConversationEntry | undefined {
    const event = this.#event(type, body);
    return event === undefined ? undefined : { seq, at, ...event };
  }

  #event(type: AuditRecord['type'], body: Fields): ConversationEvent | undefined {
    if (type === 'SnapshotTaken') return { type: 'Snapshot', id: textOf(body['id']), label: textOf(body['label']) };
    if (type === 'SnapshotRestored' && body['phase'] === 'Done')
      return { type: 'Restored', id: textOf(body['id']), verified: body['verified'] === true };
    if (type === 'ExecEnded' && listOf(body['commands']).length > 0)
      return { type: 'Note', kind: 'ProgramCommands', data: { commands: body['commands'], moreCommands: numberOf(body['moreCommands']) } };
    return type === 'Noted' ? this.#note(textOf(body['kind']), fieldsOf(body['data'])) : undefined;
  }

  #note(kind: string, data: Fields): ConversationEvent | undefined {
    const step = numberOf(data['step']);
    const text = textOf(data['text']);
    if (silent.has(kind)) return undefined;
    if (decisions.has(kind)) return decision(kind, data);
    switch (kind) {
      case 'ConversationBegan': {
        const tools = listOf(data['tools']).map((tool) => textOf(fieldsOf(tool)['name']));
        return { type: 'Began', expert: textOf(data['expert']), system: textOf(data['system']), goal: textOf(data['goal']), tools };
      }
      case 'ModelReplied':
        return this.#replied(step, data);
      case 'ReplyChosen':
        return this.#chosen(step, numberOf(data['index']));
      case 'CallObserved':
        return observation(step, data);
      case 'NoticeGiven':
        return { type: 'User', step, origin: data['origin'] === 'Person' ? 'Person' : 'Notice', text };
      case 'SubmissionRefused':
        return { type: 'User', step, origin: 'Notice', text };
      case 'ConversationCompacted':
        return { type: 'User', step, origin: 'Summary', text: textOf(data['summary']) };
      case 'ConversationRewound':
        return { type: 'Rewound', step, toStep: numberOf(data['toStep']) };
      default:
        return { type: 'Note', kind, data };
    }
  }

  #replied(step: number, { proposals, charged }: Fields): undefined {
    const more = { step, proposals: listOf(proposals).map(fieldsOf), charged: fieldsOf(charged) };
    // Replies that were asked for beside a proposal of the same step join it.
    this.#replies = [...this.#replies.filter((reply) => reply.step === step), more];
  }

  #chosen(step: number, index: number): ConversationEvent | undefined {
    const replies = this.#replies.filter((reply) => reply.step === step);
    const proposals = replies.flatMap((reply) => reply.proposals);
    const chosen = proposals[index];
    if (chosen === undefined) return undefined;
    const usages = replies.map(({ charged }) => fieldsOf(charged['usage']));
    const sum = (name: string): number => usages.reduce((all, usage) => all + numberOf(usage[name]), 0);
    const estimated = usages.some((usage) => usage['estimated'] === true);
    const costs = replies.map(({ charged }) => charged['costMicros']).filter((cost) => typeof cost === 'number');
    this.#replies = [];
    return {
      type: 'Assistant',
      step,
      text: textOf(chosen['text']),
      calls: listOf(chosen['calls']).map(fieldsOf).map(callOf),
      proposals: proposals.length,
      usage: { input: sum('input'), cachedInput: sum('cachedInput'), output: sum('output'), estimated },
      ...(costs.length > 0 && { costMicros: costs.reduce((all, cost) => all + cost, 0) }),
    };
  }
}

function callOf({ id, name, arguments: given }: Fields): ToolCall {
  return { id: textOf(id), name: textOf(name), arguments: textOf(given) };
}

function observation(step: number, data: Fields): ConversationEvent {
  return {
    type: 'Observation',
    step,
    callId: textOf(data['callId']),
    tool: textOf(data['tool']),
    text: textOf(data['text']),
    ok: data['ok'] === true,
    ...given('refused', data['refused']),
    ...(data['notRun'] === true && { notRun: true }),
  };
}

function decision(kind: string, { action, summary, requester, why, answer }: Fields): ConversationEvent {
  return {
    type: 'Decision',
    decision: kind as 'Approved',
    action: textOf(action),
    summary: textOf(summary),
    ...given('requester', requester),
    ...given('why', why),
    ...given('answer', answer),
  };
}
