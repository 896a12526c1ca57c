import type { Approval } from '@agentfleet/protocol/api';
import type { DecidedNote } from './notes.ts';
import type { Hands } from './hands.ts';
import type { Meter } from './meter.ts';
import type { AttemptContext } from './ports.ts';
import type { Progress } from './progress.ts';

/** An act that a person has to allow. */
export interface HeldAct {
  /** See `actionDigest`. */
  readonly action: string;
  readonly summary: string;
  readonly evidence: string;
}

export interface Decided {
  readonly decision: Approval['decision'];
  /** `by order x of y`, or that the time was over. */
  readonly by: string;
}

export interface ApprovalsOptions {
  readonly context: AttemptContext;
  readonly hands: Hands;
  readonly meter: Meter;
  readonly progress: Progress;
  /** Decisions that earlier workers and attempts noted. */
  readonly noted: readonly DecidedNote[];
}

/** Asks people about acts, through `run.pendingApproval`; each is asked about once. */
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
  async ask(act: HeldAct): Promise<Decided> {
    const note = this.#known.get(act.action) ?? (await this.#decide(act));
    if (note.decision === 'Rejected') this.#rejection = `${act.summary.slice(0, 200)} was rejected ${byOf(note)}`;
    return { decision: note.decision, by: byOf(note) };
  }

  async #decide(act: HeldAct): Promise<DecidedNote> {
    const { context, hands } = this.#options;
    const { decision, orderRef, requester, at } = this.#find(act.action) ?? (await this.#wait(act));
    const note: DecidedNote = {
      attempt: context.assignment.attempt,
      action: act.action,
      decision,
      summary: act.summary.slice(0, 200),
      at,
      ...(orderRef !== undefined && { order: orderRef.name }),
      ...(requester !== undefined && { requester }),
    };
    await hands.note(decision, { ...note });
    this.#known.set(act.action, note);
    return note;
  }

  async #wait(act: HeldAct): Promise<Approval> {
    const { context, meter, progress } = this.#options;
    const resume = meter.pause();
    progress.say(`waiting for approval: ${act.summary}`);
    const { action, summary, evidence } = act;
    context.report({ pendingApproval: { action, summary, evidence, expires: this.#expires(action) } }, { urgent: true });
    try {
      for (;;) {
        context.signal.throwIfAborted();
        const changed = context.taskChanged(context.signal);
        const found = this.#find(action);
        if (found !== undefined) return found;
        await changed;
      }
    } finally {
      resume();
      context.report({ pendingApproval: undefined }, { urgent: true });
    }
  }

  #find(action: string): Approval | undefined {
    return this.#options.context.approvals().findLast((one) => one.action === action);
  }

  /** A worker that takes over does not begin the time anew. */
  #expires(action: string): string {
    const { task, clock } = this.#options.context;
    const before = task.status?.run?.pendingApproval;
    if (before?.action === action) return before.expires;
    const seconds = task.spec.policy.approvals?.timeoutSeconds ?? 0;
    return new Date(clock.now() + seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
  }
}

function byOf({ order, requester }: Pick<DecidedNote, 'order' | 'requester'>): string {
  if (order === undefined) return 'because nobody answered in time';
  return `by order ${order}${requester === undefined ? '' : ` of ${requester}`}`;
}
