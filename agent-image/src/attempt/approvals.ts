import type { ApprovalSubject, Run } from '@agentfleet/protocol/api';
import { docTestDelta, type Candidate, type Features } from '@agentfleet/protocol/inference';
import { learnedScore } from '../base/text.ts';
import type { SourceReader } from '../features/index.ts';
import { decisions } from '../rails/index.ts';
import { heldAct, keep } from './artifacts.ts';
import type { GateVerdict, Part, Proposal } from './gate.ts';
import { actionDigest, actionText, type DecidedNote } from './notes.ts';
import type { SandboxSession } from './sandboxSession.ts';
import type { Meter } from './meter.ts';
import type { AttemptContext, SecondOpinion } from './ports.ts';
import type { Progress } from './progress.ts';

/** An act that a person has to allow, or a result that a person has to accept. */
interface HeldAct {
  /** See `actionDigest`. */
  readonly action: string;
  /** Default: Act. */
  readonly kind?: Exclude<ApprovalSubject, 'Question'>;
  readonly summary: string;
  readonly evidence: string;
  /** All of it, where summary and evidence may be less: its digest is `action`. */
  readonly whole?: string;
}

/** A question of the model. */
export interface Question {
  /** Digest that names this question of this task for ever; see `questionDigest`. */
  readonly action: string;
  readonly text: string;
}

interface ApprovalsOptions {
  readonly context: AttemptContext;
  readonly session: SandboxSession;
  readonly meter: Meter;
  readonly progress: Progress;
  readonly noted: readonly DecidedNote[];
}

type Pending = NonNullable<Run['pendingApproval']>;
type Waiting = Omit<Pending, 'expires'>;
interface More {
  readonly signal?: AbortSignal | undefined;
  readonly whole?: string | undefined;
}

/** Time for a person's answer where the task sets no time for approvals, seconds. */
const usualSeconds = 900;

/** Asks people about acts, results and questions, through `run.pendingApproval`; about each once. The clocks stand still. */
export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #known: Map<string, DecidedNote>;
  #rejection: string | null = null;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
    this.#known = new Map(options.noted.filter((note) => this.#stands(note)).map((note) => [note.action, note]));
    const { attempt } = options.context.assignment;
    const last = options.noted.findLast((note) => note.attempt === attempt && note.decision === 'Rejected');
    if (last !== undefined) this.#rejection = `${last.summary} was rejected ${byOf(last)}`;
  }

  /**
   * A yes counts as the operator has it: the log of a sandbox can be written by all who may run programs in its pod. One that has given way
   * to newer decisions is asked for again.
   */
  #stands({ action, decision }: DecidedNote): boolean {
    return decision !== 'Approved' || this.#find(action)?.decision === 'Approved';
  }

  /** The newest rejection of this attempt in words; null when nothing was rejected. */
  get rejection(): string | null {
    return this.#rejection;
  }

  /**
   * Waits for the decision about an act, however long that takes; rejects with the signal's reason only. `by` names the order, or
   * that the time was over (`timedOut`): no person decided then.
   *
   * @param signal default: that of the attempt
   */
  async ask({ action, kind, summary, evidence, whole }: HeldAct, signal?: AbortSignal) {
    const pending = { action, ...(kind !== undefined && { kind }), summary, evidence };
    const note = this.#known.get(action) ?? (await this.#decide(pending, `waiting for approval: ${summary}`, { signal, whole }));
    if (note.decision === 'Rejected') this.#rejection = `${summary.slice(0, 200)} was rejected ${byOf(note)}`;
    const decision = note.decision === 'Approved' ? 'Approved' : 'Rejected';
    return {
      decision,
      by: byOf(note),
      ...(note.why !== undefined && { why: note.why }),
      ...(note.order === undefined && { timedOut: true }),
    };
  }

  /** Waits for the answer to a question; null: none came in time, or a person declined. Rejects with the signal's reason only. */
  async question({ action, text }: Question) {
    const pending = { action, kind: 'Question' as const, summary: text, question: text };
    const note = this.#known.get(action) ?? (await this.#decide(pending, `waiting for an answer: ${text}`));
    return { answer: note.answer ?? null, by: byOf(note) };
  }

  async #decide(pending: Waiting, message: string, more: More = {}): Promise<DecidedNote> {
    const { context, session } = this.#options;
    const { action, kind, summary } = pending;
    const found = this.#find(action) ?? (await this.#wait(pending, message, more));
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

  async #wait(pending: Waiting, message: string, { signal, whole }: More): Promise<ReturnType<AttemptContext['approvals']>[number]> {
    const { context, meter, progress } = this.#options;
    const ends = signal ?? context.signal;
    const resume = meter.pause();
    progress.say(message);
    try {
      // Nobody is asked about what cannot be read.
      const { artifacts = [] } = whole === undefined ? {} : await keep({ context, signal: ends }, [heldAct(pending.action, whole)]);
      const shown = { pendingApproval: { ...pending, expires: this.#expires(pending.action) } };
      context.report({ ...shown, ...(artifacts.length > 0 && { artifacts: [...artifacts] }) }, { urgent: true });
      for (;;) {
        ends.throwIfAborted();
        const changed = context.taskChanged(ends);
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

interface ConsentScope {
  readonly context: AttemptContext;
  readonly sources: Pick<SourceReader, 'ofRewrite'>;
  readonly approvals: Pick<Approvals, 'ask'>;
}

/** Whether all who have a say agreed. */
export interface Consent {
  readonly allowed: boolean;
  /** Gate or person that refused, with the reason; empty when it is allowed. */
  readonly why: string;
  /** A person said yes. */
  readonly approved: boolean;
  /** Of the last part that the verifier measured; absent: none was. */
  readonly energy?: number;
}

const possiblyDone = 'an earlier worker began its commands and their end was not seen: they may be done';

/**
 * Asks gate 2, and then a person, about what gate 1 leaves open or does not allowlist, or what may be done already.
 *
 * @param unseen see `EarlierRun`
 */
export async function consentTo(
  scope: ConsentScope,
  candidate: Candidate,
  proposal: Proposal,
  verdict: GateVerdict,
  unseen = 0,
): Promise<Consent> {
  if (unseen > 0 && scope.context.task.spec.policy.approvals === undefined)
    return { allowed: false, approved: false, why: `${possiblyDone}; nobody can be asked whether to do it again` };
  let energy: number | null = null;
  const doubts: string[] = [];
  for (const part of [...verdict.review, ...verdict.scored]) {
    const opinion = await opinionOf(scope, candidate, proposal, part);
    energy = opinion.energy ?? energy;
    if (opinion.allowed) continue;
    // Only the person refuses a part that no rail objects to and that a person looks at anyway.
    const asked = verdict.scored.includes(part) && verdict.approval.includes(part);
    if (!asked)
      return {
        allowed: false,
        approved: false,
        why: `gate 2: ${opinion.why} (${part.findings[0] ?? `${learnedScore}; no rule objects`})${part.where}`,
        ...measuredAs(energy),
      };
    doubts.push(`gate 2 would refuse it: ${opinion.why}`);
  }
  if (verdict.approval.length === 0 && unseen === 0) return { allowed: true, approved: false, why: '', ...measuredAs(energy) };
  const evidence = [...(unseen === 0 ? [] : [possiblyDone]), ...verdict.approval.flatMap(evidenceOf), ...doubts];
  const measured = energy === null ? [] : [`energy ${energy.toFixed(3)}`];
  return { ...(await approve(scope, candidate, [...evidence, ...measured].join('; '), unseen)), ...measuredAs(energy) };
}

const measuredAs = (energy: number | null): Pick<Consent, 'energy'> => (energy === null ? {} : { energy });

/** Returns the opinion of gate 2 on one part of a proposal. */
export async function opinionOf(scope: ConsentScope, candidate: Candidate, proposal: Proposal, part: Part): Promise<SecondOpinion> {
  return scope.context.decisionModels.secondOpinion({
    head: part.tool === 'Shell' ? 'Shell' : 'Editor',
    tool: part.tool,
    subject: part.subject,
    ...(part.content !== undefined && { content: part.content }),
    operator: candidate.operator,
    rails: { decision: part.decision, risk: part.risk, findings: part.findings },
    features: { ...featuresOf(candidate, proposal, part), ...(await sourceFeatures(scope, proposal, part)) },
  });
}

/** Waits for a person's decision about a candidate. @param evidence why it is held @param unseen see `EarlierRun` */
async function approve(scope: ConsentScope, candidate: Candidate, evidence: string, unseen: number): Promise<Consent> {
  const { edits, acts = [] } = candidate;
  const act = [scope.context.task.metadata.uid ?? '', edits, acts, unseen] as const;
  const held = { action: actionDigest(...act), summary: summaryOf(candidate), evidence, whole: actionText(...act) };
  const { decision, by } = await scope.approvals.ask(held, scope.context.signal);
  if (decision === 'Approved') return { allowed: true, approved: true, why: '' };
  return { allowed: false, approved: false, why: `it was rejected ${by}` };
}

/**
 * Asks a person about files that the commands of a candidate deleted, where the task demands one for that. Returns why they may
 * not stay deleted; null: they may.
 */
export async function deletionRefused(
  scope: ConsentScope,
  candidate: Candidate,
  deleted: readonly string[],
  unseen: number,
): Promise<string | null> {
  if (deleted.length === 0 || scope.context.task.spec.policy.approvals?.require.includes('Destructive') !== true) return null;
  const evidence = `its commands deleted ${deleted.length} files: ${deleted.slice(0, 8).join(', ')}`;
  const { allowed, why } = await approve(scope, candidate, evidence, unseen);
  return allowed ? null : why;
}

function evidenceOf({ subject, findings, risk, kinds }: Part): readonly string[] {
  const why = findings.length === 0 ? `risk ${risk}` : findings.slice(0, 3).join(', ');
  return [`${subject.slice(0, 120)}: ${kinds.join(' and ') || risk} (${why})`];
}

function summaryOf({ edits, acts = [], rationale }: Candidate): string {
  const files = [...new Set(edits.map(({ path }) => path))];
  const does = [...acts.map(({ command }) => `run: ${command}`), ...(files.length === 0 ? [] : [`edit ${files.join(', ')}`])].join('; ');
  return rationale === '' ? does : `${does} (${rationale})`;
}

/** Features of the text of a file that is to be written; only where a verifier reads them. */
async function sourceFeatures(
  { context: { decisionModels }, sources }: ConsentScope,
  { rewrites }: Proposal,
  part: Part,
): Promise<Features> {
  const rewrite = part.tool === 'FileWrite' ? rewrites.find(({ path }) => path === part.subject) : undefined;
  if (rewrite === undefined || (decisionModels.reads?.('apiMismatch') !== true && decisionModels.reads?.('brokenNodes') !== true))
    return {};
  return sources.ofRewrite(rewrite);
}

/** Returns the features of a candidate that its edits show. */
export function editFeatures({ rank, edits }: Pick<Candidate, 'rank' | 'edits'>): Features {
  const sum = (of: (edit: Candidate['edits'][number]) => string): number => edits.reduce((total, edit) => total + of(edit).length, 0);
  return {
    rank,
    edits: edits.length,
    files: new Set(edits.map(({ path }) => path)).size,
    charsAdded: sum(({ after }) => after),
    charsRemoved: sum(({ before }) => before),
    docTestDelta: docTestDelta(edits),
  };
}

function featuresOf(candidate: Candidate, { rewrites }: Proposal, part: Part): Features {
  return {
    ...editFeatures(candidate),
    proposalShare: Math.min(1, Math.max(0, candidate.score)),
    files: rewrites.length,
    railRank: decisions.indexOf(part.decision),
    ...part.structure,
  };
}
