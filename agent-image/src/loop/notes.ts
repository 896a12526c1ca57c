import type { TokenUsage, ToolCall, ToolDefinition } from '@agentfleet/protocol/chat';
import { UselessAnswer, type ModelProposal, type ModelReply, type ModelRequest } from '../models/models.ts';
import type { ConsideredProposal } from './chooseAct.ts';
import type { McpListing } from '../tools/index.ts';
import type { Observation, PlanItem, Submission, UndoPoint } from '../tools/tool.ts';
import { AttemptFailure } from '../base/failure.ts';
import type { Scope } from '../attempt/scope.ts';
import { sleep } from '@agentfleet/kube';

/** A snapshot as the event log names it: a sandbox that was rebuilt gives ids again, and keeps digests. */
export type TreeMark = Pick<UndoPoint, 'id' | 'digest'>;

/**
 * Notes that the loop writes into the keeper's hash chain, before it acts on them. All of a conversation is in these notes: the
 * worker that wrote them and one that takes over apply them with the same reducer and so have the same state.
 */
export interface LoopNotes {
  /** The prefix, which never changes; `tree` is what the conversation begins on. */
  readonly ConversationBegan: {
    /** The same in all attempts that go on with it. */
    readonly id: string;
    readonly system: string;
    readonly goal: string;
    readonly expert: string;
    readonly tree: TreeMark;
    /** Offered with each request; absent in notes of older workers. */
    readonly tools?: readonly Omit<ToolDefinition, 'risk'>[];
    /** Listing of the MCP servers: a worker that takes over offers the same. Absent: the task names none. */
    readonly mcp?: McpListing;
  };
  /** A request is about to be sent; `reserved` is charged when its answer is never seen. */
  readonly ModelAsked: {
    readonly step: number;
    readonly request: string;
    readonly n: number;
    readonly reserved: Charge;
    /** An earlier request that was refused unanswered, and costs nothing. */
    readonly refused?: string;
  };
  readonly ModelReplied: {
    readonly step: number;
    readonly request: string;
    /** Empty: no answer was of use, and there is no reply. */
    readonly proposals: readonly ModelProposal[];
    readonly charged: Charge;
  };
  /** Proposal that is acted on, and the grounds of the choice. */
  readonly ReplyChosen: {
    readonly step: number;
    readonly index: number;
    /** Wall clock, ms. */
    readonly at: number;
    readonly signals: Readonly<Record<string, unknown>>;
    /** Each of several proposals, as it was judged before the choice. */
    readonly considered?: readonly Omit<ConsideredProposal, 'proposal'>[];
  };
  readonly CallObserved: CallObserved;
  readonly TextKept: { readonly step: number; readonly handle: string; readonly text: string };
  /** A message that no model wrote; `order` names the AgentTaskOrder of a person's. */
  readonly NoticeGiven: {
    readonly step: number;
    readonly origin: 'Notice' | 'Person';
    readonly text: string;
    readonly order?: string;
    readonly about?: string;
    /** A person had all files put back. */
    readonly restored?: UndoPoint;
  };
  /** The first `messages` of the history gave way to a summary. */
  readonly ConversationCompacted: {
    readonly step: number;
    readonly messages: number;
    readonly summary: string;
    /** The request that wrote the summary; absent: an extract did. */
    readonly request?: string;
    readonly charged?: Charge;
  };
  /** The tree is that after `toStep` again and nothing newer was kept: what came after it was not done. */
  readonly ConversationRewound: { readonly step: number; readonly toStep: number };
  readonly SubmissionRefused: { readonly step: number; readonly text: string };
}

/** Cost of one request. */
export interface Charge {
  readonly usage: TokenUsage;
  /** Millionths of the pool's currency; null where no price is known. */
  readonly costMicros: number | null;
}

/** A charge as it counts: a log that was written in a tenant's reach may hold figures that are none, or take something back. */
export function counted({ usage, costMicros }: Charge): Charge {
  const whole = (value: number): number => (Number.isSafeInteger(value) && value > 0 ? value : 0);
  const { input, cachedInput, output, estimated } = usage;
  return {
    usage: { input: whole(input), cachedInput: whole(cachedInput), output: whole(output), estimated },
    costMicros: costMicros === null ? null : whole(costMicros),
  };
}

/** Result of one call, as the model gets to see it; with an answer, it handed in. */
export interface CallObserved extends Pick<Observation, 'text' | 'ok' | 'look' | 'holds' | 'restored' | 'process'>, Partial<Submission> {
  readonly step: number;
  readonly index: number;
  readonly callId: string;
  /** See `ToolContext.callKey`. */
  readonly callKey: string;
  readonly tool: string;
  /** It was left out: too many calls, or after one that handed in. */
  readonly notRun?: true;
  /** The rule that refused it; absent: it was done. */
  readonly refused?: string;
  /** The tree after it, where it changed. */
  readonly tree?: TreeMark;
  readonly plan?: readonly PlanItem[];
  readonly energy?: number;
  /** Of a call that the gates judged, for the planner. */
  readonly facts?: { readonly tool: 'Shell' | 'Editor'; readonly seconds: number; readonly budgetUsed: number };
}

/** Longest wait for a model that does not answer, and pause between two tries; ms. */
const away = { mostMs: 600_000, betweenMs: 15_000 };

/** Begins what is reported while a model does not answer. */
export const waitingForModel = 'waiting for the model: ';

/** Waits for a model that is away; its time is not of the budget, but of the deadline. @throws AttemptFailure Infrastructure */
export async function whenReachable<T>({ context, meter, progress }: Scope, ask: () => Promise<T>): Promise<T> {
  const until = context.clock.monotonic() + away.mostMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const passes = error instanceof AttemptFailure && error.failureClass === 'Infrastructure' && !(error instanceof UselessAnswer);
      if (!passes || context.clock.monotonic() > until) throw error;
      progress.say(`${waitingForModel}${error.message}`);
    }
    const resume = meter.pause();
    await sleep(context.clock, away.betweenMs, context.signal).finally(resume);
    context.signal.throwIfAborted();
  }
}

/** One request to be paid for. */
export interface Asking extends Pick<ModelRequest, 'messages' | 'tools' | 'n' | 'inWords'> {
  readonly step: number;
  readonly prompt: number;
  readonly most: number;
}

/** A reply and what it cost. */
export interface Paid {
  readonly reply: ModelReply;
  readonly request: string;
  readonly charged: Charge;
}

/** A call of the reply that is acted on, without an observation yet. */
export interface OpenCall {
  readonly call: ToolCall;
  readonly index: number;
  /** The bound of output tokens that cut the reply off, of its last call alone; absent: the reply ended by itself. */
  readonly cut?: number | undefined;
}

/** A call whose result is recorded, one of `calls` of its reply; `left`: it was not run. */
export interface Observing extends Pick<OpenCall, 'call' | 'index'> {
  readonly step: number;
  readonly calls: number;
  readonly left: boolean;
  readonly seconds: number;
}
