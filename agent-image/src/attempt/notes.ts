import { createHash } from 'node:crypto';
import { canonicalJson } from '@agentfleet/protocol/text';
import type { KeeperClient } from '@agentfleet/keeper/client';
import { noteIn } from '../base/notes.ts';
import { EffectReader } from '../effects/index.ts';
import type { Candidate, ControlStep, Edit, ShellAct } from '@agentfleet/protocol/inference';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { boundsOf, type Meter } from './meter.ts';
import type { AttemptContext } from './ports.ts';
import type { Run } from '@agentfleet/protocol/api';

const decisions = ['Approved', 'Rejected', 'Answered', 'Unanswered'] as const;

/** Result of one candidate. */
export type TrialResult =
  /** Fits no file as it is now. */
  | 'Unusable'
  /** A gate or a person refused it, before anything was done or for what its commands did. */
  | 'Denied'
  /** Something that held at the baseline does not hold any more, or no result can be trusted. */
  | 'Worse'
  | 'Equal'
  /** More tests pass and nothing broke. */
  | 'Better'
  /** All checks hold in place. */
  | 'Reached'
  /** They did not hold in a fresh container. */
  | 'NotVerified'
  /** It took the tools container away twice. */
  | 'Crashed';

/** `Tried`: one candidate. `state` names the tree that it was tried on. */
export interface TriedNote {
  readonly attempt: number;
  readonly state: string;
  readonly step: number;
  readonly id: string;
  readonly operator: string;
  readonly location: string;
  readonly decision: string;
  readonly result: TrialResult;
  readonly why?: string;
  /** It was not run, because an earlier worker had begun its commands and their end was not seen. */
  readonly possiblyDone?: true;
  /** Facts about it for the planner; absent in notes of older workers. */
  readonly facts?: StepFacts;
  readonly signals?: StepSignals;
  /** Changes that it would make; absent where they are long, and in notes of older workers. */
  readonly edits?: readonly Edit[];
  readonly acts?: readonly ShellAct[];
}

/** `Accepted`: a candidate that brought the work forward; the tree `state` is `parent` with these edits. */
export interface AcceptedNote {
  readonly attempt: number;
  readonly parent: string;
  readonly state: string;
  readonly candidate: string;
  readonly edits: readonly Edit[];
  /** Commands that ran after the edits; `snapshot` is there then, because they are not run again. */
  readonly acts?: readonly ShellAct[];
  readonly snapshot: string | null;
  readonly passing: readonly string[];
}

/**
 * `Approved` or `Rejected`: what was decided about an act or a review that waited. `Answered` or `Unanswered`: what became of a
 * question of the model.
 */
export interface DecidedNote {
  readonly attempt: number;
  readonly action: string;
  readonly decision: (typeof decisions)[number];
  readonly summary: string;
  readonly at: string;
  readonly why?: string;
  readonly answer?: string;
  /** Absent: no answer came in time. */
  readonly order?: string;
  readonly requester?: string;
}

/** Notes of earlier workers and attempts in the event log. */
export interface Noted {
  readonly tried: readonly TriedNote[];
  readonly accepted: readonly AcceptedNote[];
  /** Snapshots at which all checks passed in a fresh container, oldest first. */
  readonly green: readonly string[];
  readonly decided: readonly DecidedNote[];
}

/** Collects the notes of an event log; what does not look like ours is left out. */
export class NoteReader {
  readonly #tried: TriedNote[] = [];
  readonly #accepted: AcceptedNote[] = [];
  readonly #green: string[] = [];
  readonly #decided: DecidedNote[] = [];
  #hasBegun = false;

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  readonly visit = (record: AuditRecord): void => {
    const { kind, data } = noteIn(record);
    const body = data as Partial<TriedNote & AcceptedNote & Pick<DecidedNote, 'action'>>;
    if (typeof body.attempt !== 'number') return;
    if (kind === 'TaskBegan') this.#hasBegun = true;
    if (kind === 'Tried' && typeof body.state === 'string' && typeof body.id === 'string') this.#tried.push(body as TriedNote);
    if (kind === 'Accepted' && typeof body.state === 'string' && Array.isArray(body.edits)) this.#accepted.push(body as AcceptedNote);
    if (decisions.some((one) => one === kind) && typeof body.action === 'string') this.#decided.push(data as unknown as DecidedNote);
    if (kind === 'Green' && typeof body.snapshot === 'string') this.#green.push(body.snapshot);
  };

  get noted(): Noted {
    return { tried: this.#tried, accepted: this.#accepted, green: this.#green, decided: this.#decided };
  }
}

/** Facts that a note holds of its step beside the result, for the planner of the worker that goes on. */
export interface StepFacts extends Omit<ControlStep, 'result' | 'expert' | 'entropyNats' | 'marginNats' | 'energy' | 'pSuccess'> {
  readonly expert: string;
}

/** Signals that the decision about a candidate was based on. */
export interface StepSignals {
  readonly risk: number | null;
  readonly energy: number | null;
  readonly pSuccess: number | null;
  readonly margin: number | null;
  readonly entropyNats: number | null;
  readonly k: number;
  readonly deliberate: boolean;
  readonly degraded: readonly string[];
}

const maxProposers = 16;

/** Names of the experts that propose, in the order of the brief: what a planner weighs and what `ControlStep.expert` counts. */
export function proposers({ experts }: Pick<PoolBrief, 'experts'>): readonly string[] {
  return experts
    .filter(({ role }) => role === 'Generalist' || role === 'Specialist')
    .slice(0, maxProposers)
    .map(({ name }) => name);
}

/** A tried candidate as the planner sees it; null for a note that holds too little. */
export function controlStep({ result, facts, signals }: TriedNote, experts: readonly string[]): ControlStep | null {
  if (facts === undefined) return null;
  const { expert, ...rest } = facts;
  return {
    ...rest,
    result,
    expert: experts.indexOf(expert),
    ...known('entropyNats', signals?.entropyNats, 0, 100),
    ...known('marginNats', signals?.margin, 0, 1000),
    ...known('energy', signals?.energy, -1e6, 1e6),
    ...known('pSuccess', signals?.pSuccess, 0, 1),
  };
}

/** A measure inside the bounds of its schema; left out where it is not known. */
function known<K extends string>(name: K, value: number | null | undefined, min: number, max: number): Partial<Record<K, number>> {
  if (value === undefined || value === null || !Number.isFinite(value)) return {};
  return { [name]: Math.min(max, Math.max(min, value)) } as Partial<Record<K, number>>;
}

interface Used {
  readonly context: Pick<AttemptContext, 'task' | 'pool' | 'used'>;
  readonly meter: Pick<Meter, 'usage' | 'modelShare'>;
}

/** Share of the task's budget and time that is used, 0…1: the bound that is nearest counts. */
export function budgetUsed({ context: { task, pool, used }, meter }: Used): number {
  const { wallSeconds, toolCalls } = boundsOf({ task, pool });
  const now = meter.usage();
  const share = (of: 'wallSeconds' | 'toolCalls', bound: number | undefined): number =>
    bound === undefined ? 0 : (used.earlier[of] + now[of]) / Math.max(1, bound);
  const shares = [
    share('wallSeconds', wallSeconds),
    share('toolCalls', toolCalls),
    share('wallSeconds', task.spec.deadlineSeconds),
    meter.modelShare(),
  ];
  return Math.min(1, Math.max(...shares));
}

const maxDegraded = 8;

/** Signals as the API has them: numbers are decimals in strings, and what is not known is left out. */
export function signalsReport(signals: StepSignals): NonNullable<Run['signals']> {
  const { energy, pSuccess, degraded } = signals;
  return {
    ...(energy !== null && { energy: decimal(energy) }),
    ...(pSuccess !== null && { pSuccess: decimal(pSuccess) }),
    ...(degraded.length > 0 && { degraded: degraded.slice(0, maxDegraded) }),
  };
}

/** At most nine digits before the point. */
function decimal(value: number): string {
  return Math.min(1e8, Math.max(-1e8, value)).toFixed(6);
}

/**
 * The whole of what a candidate would do in a task, as canonical JSON.
 *
 * @param unseen how many of its commands were begun and may be done: to do them again is another act, which was not approved yet
 */
export function actionText(task: string, edits: readonly Edit[], acts: readonly ShellAct[], unseen = 0): string {
  return canonicalJson({ task, edits, acts, ...(unseen > 0 && { unseen }) });
}

/** Names what a candidate would do: the SHA-256 of its {@link actionText}. An approval of it holds for the same act in every epoch and attempt. */
export function actionDigest(...act: Parameters<typeof actionText>): string {
  return digestOf(actionText(...act));
}

/** Names a question of the model in a task; `call` names the tool call that asks it. */
export function questionDigest(task: string, call: string, text: string): string {
  return digestOf(canonicalJson({ task, call, question: text }));
}

/** Names a review: one result of one task. */
export function reviewDigest(task: string, review: string, tree: string): string {
  return digestOf(canonicalJson({ task, review, tree }));
}

const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** Identity of the candidate that a command belongs to; stands in its `Intent` and in the `Acted` note after the last one. */
export interface ActIdentity {
  /** See `actionDigest`. */
  readonly action: string;
  /** Name of the tree that it was begun on. */
  readonly state: string;
  readonly candidate: string;
  /** Whether it must not be run a second time; see `onlyOnce`. */
  readonly once: boolean;
}

/** `Acted`: all commands of a candidate ended, and what they left was allowed. */
export interface ActedNote extends ActIdentity {
  readonly attempt: number;
  /** Snapshot of what they left. Id and digest: a sandbox that was rebuilt gives ids again. */
  readonly snapshot: { readonly id: string; readonly manifestDigest: string };
}

/** Record of what earlier workers did of a candidate's commands. */
export interface EarlierRun {
  /** Snapshot of what they left, when all of them ended: the candidate goes on from there. */
  readonly after: string | null;
  /** Number of commands that were begun, when they may be done and their end was not seen; 0: none. */
  readonly unseen: number;
}

interface Begun extends ActIdentity {
  readonly attempt: number;
  readonly commands: readonly string[];
  readonly after: ActedNote['snapshot'] | null;
  /** A worker noted what became of the candidate. */
  readonly judged: boolean;
  /** The model of its attempt has seen the result of the call. */
  readonly observed: boolean;
}

const nothing = { after: null, unseen: 0 } as const;

/**
 * Collects from an event log which commands were begun that must not be run twice. An `Intent` without an end counts as
 * done: a worker that died may have run it, and the next worker does not repeat it.
 */
export class BegunActs {
  readonly #begun = new Map<string, Begun>();
  /** Attempts that failed. Others were cut off with their sandbox, if there is a later one: one that succeeded before it could report that. */
  readonly #failed = new Set<number>();
  readonly #effects = new EffectReader();

  readonly visit = (record: AuditRecord): void => {
    this.#effects.visit(record);
    const { kind, data } = noteIn(record);
    if (kind === 'Intent') this.#begin(data);
    if (kind === 'Acted') this.#end(data);
    if (kind === 'Tried') this.#judge(data);
    if (kind === 'CallObserved') this.#observe(data);
    if (kind === 'Outcome') this.#conclude(data);
  };

  /** Returns what the log holds of a candidate, as of now. Does not ask whether its snapshot is still kept. */
  of(identity: Omit<ActIdentity, 'once'>, attempt: number): { readonly after: ActedNote['snapshot'] | null; readonly unseen: number } {
    const begun = this.#begun.get(identity.action);
    if (begun === undefined || begun.judged) return nothing;
    // A model that has seen the result may repeat a call. That of the attempt after one that was cut off has not, and the effect stands.
    if (begun.observed && (begun.attempt === attempt || this.#failed.has(begun.attempt) || !this.#stands(begun))) return nothing;
    const unseen = begun.commands.length;
    if (begun.attempt !== attempt) return begun.after !== null && !this.#stands(begun) ? nothing : { after: null, unseen };
    const same = begun.state === identity.state && begun.candidate === identity.candidate;
    return { after: same ? begun.after : null, unseen };
  }

  /** An attempt is rolled back before the next one: what it took back may be done again. */
  #stands({ attempt, commands }: Begun): boolean {
    return this.#effects.standing.some(({ planned }) => planned.attempt === attempt && commands.includes(planned.command));
  }

  #begin(data: object): void {
    const { command, ...one } = data as Partial<Begun> & { readonly command?: unknown };
    if (one.once !== true || typeof one.attempt !== 'number' || typeof command !== 'string') return;
    const { action, state, candidate, attempt, once } = one;
    if (typeof action !== 'string' || typeof state !== 'string' || typeof candidate !== 'string') return;
    const commands = [...(this.#begun.get(action)?.commands ?? []), command];
    this.#begun.set(action, { action, state, candidate, once, attempt, commands, after: null, judged: false, observed: false });
  }

  #end(data: object): void {
    const { action, snapshot } = data as Partial<ActedNote>;
    const begun = this.#begun.get(action ?? '');
    if (begun !== undefined && typeof snapshot?.id === 'string') this.#begun.set(begun.action, { ...begun, after: snapshot });
  }

  #conclude({ attempt, result }: { readonly attempt?: unknown; readonly result?: unknown }): void {
    if (result === 'Failed') this.#failed.add(Number(attempt));
  }

  /** A call of a conversation whose result the model has seen has ended. */
  #observe({ callKey }: { readonly callKey?: unknown }): void {
    for (const begun of this.#begun.values()) if (begun.state === callKey) this.#begun.set(begun.action, { ...begun, observed: true });
  }

  /** Marks acts as judged. One that held in place is found again from its snapshot; where nothing was run again the end stays unknown. */
  #judge({ state, id, result, possiblyDone }: Partial<TriedNote>): void {
    if (result === 'Reached' || possiblyDone === true) return;
    for (const begun of this.#begun.values())
      if (begun.state === state && begun.candidate === id) this.#begun.set(begun.action, { ...begun, judged: true });
  }
}

interface ActScope {
  readonly context: Pick<AttemptContext, 'task' | 'assignment'>;
  readonly begun: BegunActs;
  readonly session: Pick<KeeperClient, 'snapshots'>;
}

/** Returns what earlier workers did of a candidate. A snapshot no longer kept counts as none: then it may not be run again unasked. */
export async function earlierRun(scope: ActScope, node: Pick<ActIdentity, 'state'>, candidate: Candidate): Promise<EarlierRun> {
  const { context, begun, session } = scope;
  if ((candidate.acts ?? []).length === 0) return nothing;
  const { after, unseen } = begun.of(identityOf(scope, node, candidate), context.assignment.attempt);
  if (after === null) return { after: null, unseen };
  const kept = (await session.snapshots()).some(({ id, manifestDigest }) => id === after.id && manifestDigest === after.manifestDigest);
  return kept ? { after: after.id, unseen: 0 } : { after: null, unseen };
}

export function identityOf(
  { context }: Pick<ActScope, 'context'>,
  { state }: Pick<ActIdentity, 'state'>,
  candidate: Candidate,
): Omit<ActIdentity, 'once'> {
  const { edits, acts = [], id } = candidate;
  return { action: actionDigest(context.task.metadata.uid ?? '', edits, acts), state, candidate: id };
}
