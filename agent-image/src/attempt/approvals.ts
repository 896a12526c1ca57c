import type { ApprovalSubject, Run } from '@agentfleet/protocol/api';
import type { DecidedNote } from './notes.ts';
import type { SandboxSession } from './sandboxSession.ts';
import type { Meter } from './meter.ts';
import type { AttemptContext } from './ports.ts';
import type { Progress } from './progress.ts';

/** An act that a person has to allow, or a result that a person has to accept. */
export interface HeldAct {
  /** See `actionDigest`. */
  readonly action: string;
  /** Default: Act. */
  readonly kind?: Exclude<ApprovalSubject, 'Question'>;
  readonly summary: string;
  readonly evidence: string;
}

/** A question of the model. */
export interface Question {
  /** Digest that names this question of this task for ever; see `questionDigest`. */
  readonly action: string;
  readonly text: string;
}

export interface Decided {
  readonly decision: 'Approved' | 'Rejected';
  /** `by order x of y`, or that the time was over. */
  readonly by: string;
  /** What the order gives as its reason. */
  readonly why?: string;
  /** Nobody decided: the time did. */
  readonly timedOut?: true;
}

export interface Answered {
  /** Null: nobody answered in time, or a person declined to. */
  readonly answer: string | null;
  /** `by order x of y`, or that the time was over. */
  readonly by: string;
}

export interface ApprovalsOptions {
  readonly context: AttemptContext;
  readonly session: SandboxSession;
  readonly meter: Meter;
  readonly progress: Progress;
  /** Decisions that earlier workers and attempts noted. */
  readonly noted: readonly DecidedNote[];
}

type Pending = NonNullable<Run['pendingApproval']>;
type Waiting = Omit<Pending, 'expires'>;

/** How long a person has where the task says nothing about approvals, seconds. */
const usualSeconds = 900;

/** Asks people about acts, results and questions, through `run.pendingApproval`; about each once. The clocks stand still. */
export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #known: Map<string, DecidedNote>;
  #rejection: string | null = null;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
    this.#known = new Map(options.noted.map((note) => [note.action, note]));
    const { attempt } = options.context.assignment;
    const last = options.noted.findLast((note) => note.attempt === attempt && note.decision === 'Rejected');
    if (last !== undefined) this.#rejection = `${last.summary} was rejected ${byOf(last)}`;
  }

  /** The newest rejection of this attempt in words; null when nothing was rejected. */
  get rejection(): string | null {
    return this.#rejection;
  }

  /** Waits for the decision about an act, however long that takes; rejects with the signal's reason only. */
  async ask({ action, kind, summary, evidence }: HeldAct): Promise<Decided> {
    const pending = { action, ...(kind !== undefined && { kind }), summary, evidence };
    const note = this.#known.get(action) ?? (await this.#decide(pending, `waiting for approval: ${summary}`));
    if (note.decision === 'Rejected') this.#rejection = `${summary.slice(0, 200)} was rejected ${byOf(note)}`;
    const decision = note.decision === 'Approved' ? 'Approved' : 'Rejected';
    return {
      decision,
      by: byOf(note),
      ...(note.why !== undefined && { why: note.why }),
      ...(note.order === undefined && { timedOut: true }),
    };
  }

  /** Waits for the answer to a question until its time is over; rejects with the signal's reason only. */
  async question({ action, text }: Question): Promise<Answered> {
    const pending = { action, kind: 'Question' as const, summary: text, question: text };
    const note = this.#known.get(action) ?? (await this.#decide(pending, `waiting for an answer: ${text}`));
    return { answer: note.answer ?? null, by: byOf(note) };
  }

  async #decide(pending: Waiting, message: string): Promise<DecidedNote> {
    const { context, session } = this.#options;
    const { action, kind, summary } = pending;
    const found = this.#find(action) ?? (await this.#wait(pending, message));
    const { orderRef, requester, at, answer, reason } = found;
    const decision = kind === 'Question' && found.decision !== 'Answered' ? 'Unanswered' : found.decision;
    const note: DecidedNote = {
      attempt: context.assignment.attempt,
      action,
      decision,
      summary: summary.slice(0, 200),
      at,
      ...(answer !== undefined && { answer }),
      ...(reason !== undefined && { why: reason }),
      ...(orderRef !== undefined && { order: orderRef.name }),
      ...(requester !== undefined && { requester }),
    };
    await session.note(decision, { ...note });
    this.#known.set(action, note);
    return note;
  }

  async #wait(pending: Waiting, message: string): Promise<ReturnType<AttemptContext['approvals']>[number]> {
    const { context, meter, progress } = this.#options;
    const resume = meter.pause();
    progress.say(message);
    context.report({ pendingApproval: { ...pending, expires: this.#expires(pending.action) } }, { urgent: true });
    try {
      for (;;) {
        context.signal.throwIfAborted();
        const changed = context.taskChanged(context.signal);
        const found = this.#find(pending.action);
        if (found !== undefined) return found;
        await changed;
      }
    } finally {
      resume();
      context.report({ pendingApproval: undefined }, { urgent: true });
    }
  }

  #find(action: string): ReturnType<AttemptContext['approvals']>[number] | undefined {
    return this.#options.context.approvals().findLast((one) => one.action === action);
  }

  /** A worker that takes over does not begin the time again. */
  #expires(action: string): string {
    const { task, clock } = this.#options.context;
    const before = task.status?.run?.pendingApproval;
    if (before?.action === action) return before.expires;
    const seconds = task.spec.policy.approvals?.timeoutSeconds ?? usualSeconds;
    return new Date(clock.now() + seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
  }
}

function byOf({ order, requester }: Pick<DecidedNote, 'order' | 'requester'>): string {
  if (order === undefined) return 'because nobody answered in time';
  return `by order ${order}${requester === undefined ? '' : ` of ${requester}`}`;
}
