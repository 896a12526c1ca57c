import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { Redaction, type Redacting } from '@agentfleet/protocol/redact';
import {
  traceFormat,
  type TraceCandidate,
  type TraceConsent,
  type TraceHeader,
  type TraceLine,
  type TraceMessage,
  type TraceProposal,
  type TracePrompt,
} from '@agentfleet/protocol/trace';
import type { AcceptedNote, DecidedNote, TriedNote } from '../attempt/notes.ts';
import type { TaskBeganNote } from '../attempt/progress.ts';
import type { LoopNotes } from '../loop/notes.ts';
import { TranscriptReader, type Transcript } from '../loop/transcript.ts';

type Check = TraceHeader['checks'][number];
type Attempt = TraceHeader['attempts'][number];
type Act = TraceProposal['acts'][number];
type Acted = LoopNotes['CallObserved'];

/** `Baseline` and `Outcome`, as the engine writes them. */
interface BaselineNote {
  readonly checks: readonly { readonly check: string; readonly expect: string; readonly failing: string[]; readonly flaky: string[] }[];
}
interface OutcomeNote extends Attempt {
  readonly checks?: readonly (NonNullable<Check['end']> & { readonly name: string })[];
}

/** All kinds of notes in a trace. */
interface Notes extends Omit<LoopNotes, 'ModelAsked' | 'TextKept' | 'ConversationCompacted'> {
  readonly TaskBegan: TaskBeganNote;
  readonly Baseline: BaselineNote;
  readonly Outcome: OutcomeNote;
  readonly Green: { readonly digest: string };
  readonly Tried: TriedNote;
  readonly Accepted: AcceptedNote;
  readonly Approved: DecidedNote;
  readonly Rejected: DecidedNote;
  readonly Answered: DecidedNote;
  readonly Unanswered: DecidedNote;
}
type Kind = keyof Notes;
type Visit<K extends Kind> = (data: Notes[K], at: { readonly attempt: number; readonly time: string }) => void;

/** Returns the task's consent to the use of its trace; undefined: its log has none, which is no consent. Pure. */
export function consentOf(records: readonly AuditRecord[]): TraceConsent | undefined {
  const first = records.find(({ type, body }) => type === 'Noted' && body['kind'] === 'TaskBegan');
  return (first?.body['data'] as TaskBeganNote | undefined)?.consent;
}

/**
 * Returns the trace of one task, its header first. Pure: equal logs give equal lines.
 *
 * @param records of a log whose chain was checked
 * @throws Error for a log that does not name its task
 */
export function traceOf(records: readonly AuditRecord[], checked: TraceHeader['log']['checked']): readonly TraceLine[] {
  const fold = new Fold();
  for (const record of records) fold.visit(record);
  return fold.lines({ root: records.at(-1)?.hash ?? '', records: records.length, checked });
}

class Fold {
  readonly #reader = new TranscriptReader();
  readonly #seen = new Set<string>();
  readonly #prompts: Prompts;
  readonly #redacting: Redacting;
  readonly #lines: (TraceProposal | TraceCandidate)[] = [];
  readonly #attempts = new Map<number, Attempt>();
  readonly #usage = { input: 0, cachedInput: 0, output: 0, requests: 0 };
  #redactions = 0;
  #began: TaskBeganNote | undefined;
  #tools: TraceHeader['tools'] = [];
  #keeper: string | undefined;
  #baseline: BaselineNote['checks'] = [];
  #ends: NonNullable<OutcomeNote['checks']> = [];
  #green: string | null = null;
  /** Decisions of people about the call that is being done. */
  #people: NonNullable<Act['people']> = [];

  constructor() {
    this.#redacting = new Redaction(() => (this.#redactions += 1)).open();
    this.#prompts = new Prompts(this.#redacting);
  }

  visit(record: AuditRecord): void {
    const { type, body, at: time } = record;
    if (type === 'KeeperStarted' && typeof body['version'] === 'string') this.#keeper = body['version'];
    if (type !== 'Noted') return;
    const { kind, data } = body as { readonly kind: string; readonly data: { readonly attempt?: number; readonly note?: string } };
    const { attempt, note } = data;
    const twice = note !== undefined && this.#seen.has(note);
    if (note !== undefined) this.#seen.add(note);
    if (attempt !== undefined && !twice && Object.hasOwn(this.#visits, kind))
      (this.#visits[kind as Kind] as Visit<Kind>)(data as unknown as Notes[Kind], { attempt, time });
    this.#reader.visit(record);
  }

  lines(log: TraceHeader['log']): readonly TraceLine[] {
    const began = this.#began;
    if (began === undefined) throw new Error('the log does not say of which task it is: an older worker began it');
    const { consent, task, pool, models } = began;
    const attempts = [...this.#attempts.values()];
    const outcome = attempts.at(-1) ?? null;
    const header: TraceHeader = {
      type: 'Header',
      format: traceFormat,
      task: { ...task },
      consent,
      pool: { ...pool },
      models: models.map((model) => ({ ...model })),
      versions: this.#keeper === undefined ? {} : { keeper: this.#keeper },
      goal: this.#redacting.text(began.goal),
      checks: began.checks.map((check) => this.#check(check)),
      tools: this.#tools,
      attempts,
      outcome,
      verified: outcome?.result === 'Succeeded' ? this.#green : null,
      usage: this.#usage,
      redactions: this.#redactions,
      log,
    };
    return [header, ...this.#lines];
  }

  readonly #visits: { readonly [K in Kind]: Visit<K> } = {
    TaskBegan: (note) => (this.#began ??= note),
    Baseline: ({ checks }) => (this.#baseline = checks),
    Green: ({ digest }) => (this.#green = digest),
    Outcome: (note) => this.#ended(note),
    Tried: (note, { attempt, time }) => this.#lines.push(candidateOf(note, attempt, time, this.#redacting)),
    Accepted: (note) => this.#accepted(note),
    Approved: (note) => this.#decided(note),
    Rejected: (note) => this.#decided(note),
    Answered: (note) => this.#decided(note),
    Unanswered: (note) => this.#decided(note),
    ConversationBegan: ({ tools = [] }) => {
      if (this.#tools.length === 0)
        this.#tools = tools.map(({ name, description, parameters }) => ({ name, description, parameters: { ...parameters } }));
    },
    ModelReplied: (note, { attempt, time }) => this.#replied(note, this.#reader.of(attempt), attempt, time),
    ReplyChosen: (note, { attempt }) => this.#chosen(note, this.#at(attempt, note.step)),
    CallObserved: (note, { attempt }) => this.#observed(note, attempt),
    ConversationRewound: ({ toStep }, { attempt }) => this.#undo(attempt, toStep),
    NoticeGiven: ({ restored }, { attempt }) => {
      if (restored !== undefined) this.#undo(attempt, restored.step);
    },
    SubmissionRefused: ({ step, text }, { attempt }) => {
      const handed = this.#at(attempt, step).find(({ chosen }) => chosen);
      if (handed !== undefined) handed.submission = { accepted: false, why: this.#redacting.text(text) };
    },
  };

  #replied({ step, proposals, charged }: LoopNotes['ModelReplied'], transcript: Transcript, attempt: number, at: string): void {
    const { usage, costMicros } = charged;
    for (const key of ['input', 'cachedInput', 'output'] as const) this.#usage[key] += usage[key];
    this.#usage.requests += 1;
    for (const [index, { text, calls, finish, entropyNats, providerState }] of proposals.entries())
      this.#lines.push({
        type: 'Proposal',
        id: `${transcript.began?.id ?? attempt}.${step}.${index}`,
        attempt,
        step,
        index,
        k: proposals.length,
        at,
        expert: transcript.began?.expert ?? '',
        prompt: this.#prompts.of(transcript.messages),
        reply: {
          text: this.#redacting.text(text),
          calls: calls.map((call) => ({ ...call, arguments: this.#redacting.text(call.arguments) })),
          finish,
          entropyNats,
          ...(providerState !== undefined && { providerState }),
        },
        chosen: false,
        acts: [],
        undone: false,
        usage: index === 0 ? { ...usage, costMicros } : null,
      });
  }

  #chosen({ index, signals, considered = [] }: LoopNotes['ReplyChosen'], proposals: readonly TraceProposal[]): void {
    for (const [at, { refused, why, energy, risk }] of considered.entries()) {
      const proposal = proposals[at];
      if (proposal !== undefined) proposal.judged = { refused, ...(why !== undefined && { why: this.#redacting.text(why) }), energy, risk };
    }
    const chosen = proposals[index];
    if (chosen === undefined) return;
    chosen.chosen = true;
    const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
    chosen.signals = { risk: number(signals['risk']), disagreement: number(signals['disagreement']), margin: number(signals['margin']) };
  }

  #observed(note: Acted, attempt: number): void {
    const { step, restored, answer } = note;
    if (restored !== undefined) this.#undo(attempt, restored.step);
    const proposal = this.#at(attempt, step).find(({ chosen }) => chosen);
    const people = this.#people;
    this.#people = [];
    proposal?.acts.push(actOf(note, people, this.#redacting));
    if (proposal !== undefined && answer !== undefined && proposal.submission === undefined) proposal.submission = { accepted: false };
  }

  #ended({ attempt, result, reason, class: cls, checks }: OutcomeNote): void {
    this.#attempts.set(attempt, { attempt, result, reason, ...(cls !== undefined && { class: cls }) });
    if (checks !== undefined) this.#ends = checks;
    const handed = this.#lines.findLast((line) => line.type === 'Proposal' && line.attempt === attempt && line.submission !== undefined);
    if (handed?.type === 'Proposal' && handed.submission?.why === undefined)
      handed.submission = result === 'Succeeded' ? { accepted: true } : { accepted: false, why: reason };
  }

  #decided({ decision, why }: DecidedNote): void {
    this.#people.push({ decision, ...(why !== undefined && { why: this.#redacting.text(why) }) });
  }

  /** Steps after this one left nothing in the tree. */
  #undo(attempt: number, toStep: number): void {
    const conversation = `${this.#reader.of(attempt).began?.id ?? attempt}.`;
    for (const line of this.#lines)
      if (line.type === 'Proposal' && line.id.startsWith(conversation) && line.step > toStep) line.undone ||= line.chosen;
  }

  #accepted({ candidate, edits, acts = [] }: AcceptedNote): void {
    const line = this.#lines.findLast((one) => one.type === 'Candidate' && one.id === candidate);
    if (line?.type !== 'Candidate') return;
    line.accepted = true;
    Object.assign(line, contentOf({ edits, acts }, this.#redacting));
  }

  /** The answers to the request of a step. */
  #at(attempt: number, step: number): readonly TraceProposal[] {
    const first = `${this.#reader.of(attempt).began?.id ?? attempt}.${step}.`;
    return this.#lines.filter((line): line is TraceProposal => line.type === 'Proposal' && line.id.startsWith(first));
  }

  #check({ name, type, command, path }: TaskBeganNote['checks'][number]): Check {
    const before = this.#baseline.find(({ check }) => check === name);
    const end = this.#ends.find((check) => check.name === name);
    return {
      name,
      type,
      ...(command !== undefined && { command: command.map((word) => this.#redacting.text(word)) }),
      ...(path !== undefined && { path }),
      ...(before !== undefined && { expect: before.expect, failingBefore: [...before.failing], flaky: [...before.flaky] }),
      ...(end !== undefined && { end: endOf(end) }),
    };
  }
}

/** Gives each message its number, and names requests by them. */
class Prompts {
  readonly #numbers = new Map<string, number>();
  readonly #redacting: Redacting;

  constructor(redacting: Redacting) {
    this.#redacting = redacting;
  }

  of(messages: Transcript['messages']): TracePrompt {
    const prompt: TracePrompt = [];
    for (const message of messages) {
      const key = JSON.stringify(message);
      const number = this.#numbers.get(key);
      const last = prompt.at(-1);
      if (number === undefined) {
        this.#numbers.set(key, this.#numbers.size);
        prompt.push(withoutSecrets(message, this.#redacting));
      } else if (Array.isArray(last) && last[1] === number - 1) last[1] = number;
      else prompt.push([number, number]);
    }
    return prompt;
  }
}

function withoutSecrets(message: Transcript['messages'][number], redacting: Redacting): TraceMessage {
  const text = redacting.text(message.text);
  if (message.role !== 'Assistant') return { ...message, text };
  return { ...message, text, calls: message.calls.map((call) => ({ ...call, arguments: redacting.text(call.arguments) })) };
}

function actOf(note: Acted, people: NonNullable<Act['people']>, redacting: Redacting): Act {
  const { index, tool, text, ok, notRun, refused, energy, holds, tree, restored, facts } = note;
  const digest = tree?.digest ?? restored?.digest;
  return {
    call: index,
    tool,
    outcome: notRun === true ? 'NotRun' : refused !== undefined ? 'Refused' : ok ? 'Done' : 'Failed',
    ...(refused !== undefined && { rule: redacting.text(refused) }),
    ...(energy !== undefined && { energy }),
    ...(people.length > 0 && { people }),
    observation: redacting.text(text),
    ...(holds !== undefined && { holds }),
    ...(digest !== undefined && { tree: digest }),
    ...(facts !== undefined && { seconds: facts.seconds }),
  };
}

function candidateOf(note: TriedNote, attempt: number, at: string, redacting: Redacting): TraceCandidate {
  const { id, step, operator, location, state, decision, result, why, signals, facts, edits = [], acts = [] } = note;
  return {
    type: 'Candidate',
    id,
    attempt,
    step,
    at,
    operator,
    location,
    state,
    decision,
    result,
    ...(why !== undefined && { why: redacting.text(why) }),
    ...(signals !== undefined && { signals: { ...signals } }),
    ...(facts !== undefined && { facts: { ...facts } }),
    ...contentOf({ edits, acts }, redacting),
    accepted: result === 'Reached',
  };
}

function contentOf(
  { edits = [], acts = [] }: Pick<TriedNote, 'edits' | 'acts'>,
  redacting: Redacting,
): Pick<TraceCandidate, 'edits' | 'acts'> {
  return {
    ...(edits.length > 0 && {
      edits: edits.map(({ before, after, ...rest }) => ({ ...rest, before: redacting.text(before), after: redacting.text(after) })),
    }),
    ...(acts.length > 0 && { acts: redacting.value(acts.map((act) => ({ ...act }))) }),
  };
}

function endOf({ passed, failed, skipped, newlyPassing, stillFailing }: NonNullable<Check['end']>): NonNullable<Check['end']> {
  return {
    passed,
    failed,
    skipped,
    ...(newlyPassing !== undefined && { newlyPassing }),
    ...(stillFailing !== undefined && { stillFailing }),
  };
}
