import { noteIn } from '../base/notes.ts';
import { shortened } from '../base/text.ts';
import type { ConversationMessage, ToolCall } from '@agentfleet/protocol/chat';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import type { ModelProposal } from '../models/models.ts';
import { cutOf, isLastTurn, remarkOn, traceOf, type StepTrace } from './discipline.ts';
import { keptReply, keptResult, type Result } from './kept.ts';
import { counted, type CallObserved, type Charge, type LoopNotes, type OpenCall } from './notes.ts';
import type { WorkRecord } from './workRecord.ts';
import type { BackgroundProcess, PlanItem, Submission, UndoPoint } from '../tools/tool.ts';

type Kind = keyof LoopNotes;
interface Recorded {
  readonly step: number;
  readonly message: ConversationMessage;
  /** Of a summary: what it stands for. */
  readonly replaced?: readonly Recorded[];
}

const lastStepOf = ({ step, replaced = [] }: Recorded): number => (replaced.length === 0 ? step : Math.max(...replaced.map(lastStepOf)));

/** Returns a message as of a step: a summary that covers later ones is replaced by the messages that it stands for. */
function asOf(toStep: number, recorded: Recorded): readonly Recorded[] {
  return lastStepOf(recorded) <= toStep ? [recorded] : (recorded.replaced?.flatMap((one) => asOf(toStep, one)) ?? [recorded]);
}

interface OpenReply {
  readonly step: number;
  readonly proposals: readonly ModelProposal[];
  readonly chosen: number | null;
  readonly observed: ReadonlySet<number>;
  /** Output tokens that each of the newest proposals could have. */
  readonly most: number;
}

/** The conversation of one attempt, as its notes say. */
export class Transcript {
  #began: LoopNotes['ConversationBegan'] | null = null;
  #history: Recorded[] = [];
  #open: OpenReply | null = null;
  #step = 0;
  #trees: UndoPoint[] = [];
  #asked: LoopNotes['ModelAsked'] | null = null;
  #charges: Charge[] = [];
  readonly #orders = new Set<string>();
  readonly #about = new Set<string>();
  readonly #texts = new Map<string, string>();
  readonly #handles = new WeakMap<ConversationMessage, string>();
  /** Results of the history that are there whole. */
  #results: Result[] = [];
  #plan: readonly PlanItem[] = [];
  #replies: (Omit<StepTrace, 'calls'> & { readonly step: number; readonly calls: readonly ToolCall[] })[] = [];
  #refusedSubmissions = 0;
  /** Refusals of work that was handed in, by step. */
  readonly #rejected = new Map<number, string>();
  #submission: Submission | null = null;
  readonly #processes = new Map<string, BackgroundProcess>();
  #observations: CallObserved[] = [];
  /** Observations before a tree that a person had put back say nothing of it. */
  #heldBefore = 0;

  apply<K extends Kind>(kind: K, data: LoopNotes[K]): void {
    (this.#reducers[kind] as (note: LoopNotes[K]) => void)(data);
  }

  /** Reports whether notes of a kind are of a conversation. */
  reads(kind: string): kind is Kind {
    return Object.hasOwn(this.#reducers, kind);
  }

  get began(): LoopNotes['ConversationBegan'] | null {
    return this.#began;
  }

  /** The whole conversation, System and Goal first. */
  get messages(): readonly ConversationMessage[] {
    if (this.#began === null) return [];
    const { system, goal } = this.#began;
    return [{ role: 'System', text: system }, { role: 'User', origin: 'Goal', text: goal }, ...this.history];
  }

  get history(): readonly ConversationMessage[] {
    return this.#history.map(({ message }) => message);
  }

  /** Number of the last step that was begun; a step is one reply of the model. */
  get step(): number {
    return this.#step;
  }

  get open(): OpenReply | null {
    return this.#open;
  }

  /** The tree after the last observation. */
  get tree(): UndoPoint | null {
    return this.#trees.at(-1) ?? null;
  }

  /** Trees after steps that changed them, oldest first; the first is the start. */
  get trees(): readonly UndoPoint[] {
    return this.#trees;
  }

  /** Amounts that were spent; a request whose answer was not seen counts as its reservation. */
  get charges(): readonly Charge[] {
    return [...this.#charges, ...(this.#asked === null ? [] : [estimated(this.#asked.reserved)])].map(counted);
  }

  /** Adds what an earlier attempt spent and did not report. */
  owe(charge: Charge): void {
    this.#charges.push(charge);
  }

  /** The worker ended the attempt by itself: a request that stands without a reply was refused, or never answered. */
  end(): void {
    this.#asked = null;
  }

  /** An attempt that goes on with the conversation of an earlier one does not pay for it again. */
  settle(): void {
    this.#charges = [];
    this.#asked = null;
  }

  /** Whether all checks were seen to hold on the tree as it is. */
  get holds(): boolean {
    const last = this.#observations
      .slice(this.#heldBefore)
      .findLast(({ tree, restored, holds }) => tree !== undefined || restored !== undefined || holds !== undefined);
    return last?.holds === true && last.tree === undefined;
  }

  /** Work that was handed in and is not judged yet. */
  get submission(): Submission | null {
    return this.#submission;
  }

  /** Processes in the background, the newest of each name. */
  get processes(): readonly BackgroundProcess[] {
    return [...this.#processes.values()];
  }

  /** Basis of the questions to the planner: each act that was judged, oldest first. */
  get acts(): readonly CallObserved[] {
    return this.#observations.filter(({ facts }) => facts !== undefined);
  }

  /** Returns the results of the calls of a step, as far as they were done. */
  observedOf(step: number): readonly CallObserved[] {
    return this.#observations.filter((one) => one.step === step);
  }

  /** Calls of each reply and their results, for the rules against standing still. */
  get traces(): readonly StepTrace[] {
    const seen = new Map(this.#observations.map((one) => [`${one.step}.${one.index}`, one]));
    // Calls of a tool that is none fail all alike.
    const comparable = (call: ToolCall): ToolCall => (this.#offers(call.name, true) ? call : { ...call, arguments: '' });
    return this.#replies.map(({ step, calls, ...known }) => ({
      ...known,
      calls: calls.map((call, index) => traceOf(comparable(call), seen.get(`${step}.${index}`))),
    }));
  }

  /** Whether the reply of this step is of a last turn. */
  get isLastTurn(): boolean {
    return isLastTurn(this.traces.slice(0, this.#replies.at(-1)?.step === this.#step ? -1 : undefined));
  }

  get refusedSubmissions(): number {
    return this.#refusedSubmissions;
  }

  hasOrder(order: string): boolean {
    return this.#orders.has(order);
  }

  hasNotice(about: string): boolean {
    return this.#about.has(about);
  }

  /** The text of a handle: one that was too long, else an observation as it was; null: neither. */
  text(handle: string): string | null {
    return this.#texts.get(handle) ?? this.#observations.find((one) => handleOf(one) === handle)?.text ?? null;
  }

  /** Returns the handle that reads the whole text of an observation of this history. */
  handleOf(message: ConversationMessage): string | undefined {
    return this.#handles.get(message);
  }

  /** Facts of the work that no model reported, beside the files that changed. */
  get record(): Omit<WorkRecord, 'changed' | 'absent'> {
    const calls = new Map(this.#replies.flatMap(({ step, calls }) => calls.map((call, index) => [`${step}.${index}`, call] as const)));
    const done = this.#observations.flatMap((observed) => {
      const call = calls.get(`${observed.step}.${observed.index}`);
      const rejected = observed.answer === undefined ? undefined : this.#rejected.get(observed.step);
      return call === undefined ? [] : [{ call, handle: handleOf(observed), observed, ...(rejected !== undefined && { rejected }) }];
    });
    return { plan: this.#plan, done, kept: new Set(this.#texts.keys()) };
  }

  get plan(): readonly PlanItem[] {
    return this.#plan;
  }

  readonly #reducers: { readonly [K in Kind]: (note: LoopNotes[K]) => void } = {
    ConversationBegan: (note) => {
      this.#began = note;
      this.#trees = [{ step: 0, ...note.tree }];
    },
    ModelAsked: (note) => {
      if (this.#asked !== null && this.#asked.request !== note.refused) this.#charges.push(estimated(this.#asked.reserved));
      this.#asked = note;
    },
    ModelReplied: ({ step, request, proposals, charged }) => {
      const most = this.#asked?.request === request ? this.#asked.reserved.usage.output / this.#asked.n : charged.usage.output;
      if (this.#asked?.request === request) this.#asked = null;
      this.#charges.push(charged);
      if (proposals.length === 0) return;
      this.#step = step;
      // Proposals that were asked for beside one of the same step join it.
      const beside = this.#open?.step === step && this.#open.chosen === null ? this.#open.proposals : [];
      this.#open = { step, proposals: [...beside, ...proposals], chosen: null, observed: new Set(), most };
    },
    ReplyChosen: ({ step, index, at }) => {
      const proposal = this.#open?.proposals[index];
      if (this.#open === null || proposal === undefined) return;
      this.#open = { ...this.#open, chosen: index };
      const idle = { asksPeople: this.#offers('ask_human'), changed: this.#trees.length > 1 };
      this.#replies.push({ step, at, calls: proposal.calls, ...cutOf(proposal, this.#open.most), ...remarkOn(proposal, idle) });
      this.#say(step, assistant(proposal));
      if (proposal.calls.length === 0) this.#open = null;
    },
    CallObserved: (note) => {
      const { step, index, callId, tool, tree, restored, plan, process, answer, unreachable } = note;
      if (answer !== undefined) this.#submission ??= { answer, ...(unreachable && { unreachable }) };
      if (process !== undefined) this.#processes.set(process.name, process);
      const message = { role: 'Tool', callId, name: tool, text: this.#shownOf(note) } as const;
      this.#handles.set(message, handleOf(note));
      this.#say(step, message);
      this.#observations.push(note);
      if (plan !== undefined) this.#plan = plan;
      if (tree !== undefined) this.#keepTree({ step, ...tree, by: this.#callText(tool, index) });
      if (restored !== undefined) this.#goBack(restored);
      if (this.#open === null) return;
      const observed = new Set([...this.#open.observed, index]);
      const { chosen, proposals } = this.#open;
      const calls = chosen === null ? [] : (proposals[chosen]?.calls ?? []);
      this.#open = observed.size >= calls.length ? null : { ...this.#open, observed };
    },
    TextKept: ({ handle, text }) => void this.#texts.set(handle, text),
    NoticeGiven: ({ step, origin, text, order, about, restored }) => {
      this.#say(step, { role: 'User', origin, text });
      if (restored !== undefined) this.#goBack(restored);
      if (order !== undefined) this.#orders.add(order);
      if (about !== undefined) this.#about.add(about);
    },
    ConversationCompacted: ({ step, messages, summary, request, charged }) => {
      if (request !== undefined && this.#asked?.request === request) this.#asked = null;
      if (charged !== undefined) this.#charges.push(charged);
      const message = { role: 'User', origin: 'Summary', text: summary } as const;
      this.#history = [{ step, message, replaced: this.#history.slice(0, messages) }, ...this.#history.slice(messages)];
    },
    ConversationRewound: ({ toStep }) => {
      this.#submission = null;
      // A summary that is left covers older steps, and messages of people are not sent again.
      const stays = ({ step, message }: Recorded): boolean =>
        step <= toStep || (message.role === 'User' && (message.origin === 'Summary' || message.origin === 'Person'));
      this.#history = this.#history.flatMap((one) => asOf(toStep, one)).filter(stays);
      this.#trees = this.#trees.filter(({ step }) => step <= toStep);
      this.#observations = this.#observations.filter(({ step }) => step <= toStep);
      this.#plan = this.#observations.findLast(({ plan }) => plan !== undefined)?.plan ?? [];
      this.#replies = this.#replies.filter(({ step }) => step <= toStep);
      this.#open = null;
    },
    SubmissionRefused: ({ step, text }) => {
      this.#say(step, { role: 'User', origin: 'Notice', text });
      this.#refusedSubmissions += 1;
      this.#rejected.set(step, text.replace(/^The submission was refused: /, ''));
      this.#submission = null;
    },
  };

  #callText(tool: string, index: number): string {
    return `${tool} ${brief(this.#callAt(index)?.arguments ?? '')}`.trim();
  }

  /** A call of the open reply. */
  #callAt(index: number): ToolCall | undefined {
    const { chosen = null, proposals = [] } = this.#open ?? {};
    return chosen === null ? undefined : proposals[chosen]?.calls[index];
  }

  /** @param unknown what holds for notes of older workers, which name no tools */
  #offers(name: string, unknown = false): boolean {
    return this.#began?.tools?.some((tool) => tool.name === name) ?? unknown;
  }

  /** The result of a call as the conversation keeps it. */
  #shownOf(note: CallObserved): string {
    const result = { call: this.#callAt(note.index), text: note.text, handle: handleOf(note), step: note.step };
    const isThere = ({ handle }: Result): boolean => this.#history.some(({ message }) => this.#handles.get(message) === handle);
    this.#results = this.#results.filter(isThere);
    const shown = keptResult(result, this.#results);
    if (shown === note.text) this.#results.push(result);
    return shown;
  }

  #say(step: number, message: ConversationMessage): void {
    this.#history.push({ step, message });
  }

  #goBack(point: UndoPoint): void {
    this.#trees = [...this.#trees.filter((one) => one.step < point.step), point];
    this.#heldBefore = this.#observations.length;
  }

  /** One tree a step: the newest of it. */
  #keepTree(tree: UndoPoint): void {
    this.#trees = [...this.#trees.filter(({ step }) => step !== tree.step || step === 0), tree];
  }
}

/** Names the text of an observation for `read_file`. */
export function handleOf({ step, index }: Pick<CallObserved, 'step' | 'index'>): string {
  return `out-${step}.${index}`;
}

function assistant(proposal: ModelProposal): ConversationMessage {
  const { providerState } = proposal;
  return { role: 'Assistant', ...keptReply(proposal), ...(providerState !== undefined && { providerState }) };
}

const estimated = ({ usage, costMicros }: Charge): Charge => ({ usage: { ...usage, estimated: true }, costMicros });

/** The calls of a reply that have no observation yet, with their index. */
export function openCalls({ proposals, chosen, observed, most }: OpenReply): readonly OpenCall[] {
  const { calls = [], finish } = (chosen === null ? undefined : proposals[chosen]) ?? {};
  const cutIn = (index: number): { readonly cut?: number } => (finish === 'Length' && index === calls.length - 1 ? { cut: most } : {});
  return calls.map((call, index) => ({ call, index, ...cutIn(index) })).filter(({ index }) => !observed.has(index));
}

/** Arguments on one short line. */
export function brief(text: string): string {
  return shortened(text.replaceAll(/\s+/g, ' '), 80);
}

/**
 * Reads the conversation of an attempt out of an event log. An attempt that follows one which the infrastructure ended, or which
 * was cut off with its worker, goes on with its conversation; any other begins its own.
 */
export class TranscriptReader {
  #current = new Transcript();
  #attempt = 0;
  #goesOn = true;
  readonly #before: Charge[] = [];
  readonly #seen = new Set<string>();

  readonly visit = (record: AuditRecord): void => {
    const { kind, data } = noteIn(record);
    const { attempt, note } = data;
    if (typeof attempt !== 'number' || (typeof note === 'string' && this.#seen.has(note))) return;
    if (typeof note === 'string') this.#seen.add(note);
    if (kind === 'Outcome') this.#goesOn = data['class'] === 'Infrastructure';
    if (kind === 'Outcome' && attempt === this.#attempt) this.#current.end();
    if (kind === 'RolledBack') this.#goesOn = false;
    if (!this.#current.reads(kind)) return;
    this.#enter(attempt);
    this.#current.apply(kind, data as unknown as LoopNotes[Kind]);
  };

  /** The conversation that an attempt goes on with; empty when it has to begin one. */
  of(attempt: number): Transcript {
    this.#enter(attempt);
    return this.#current;
  }

  /** Amounts that the attempts before the current one spent by the log; their workers may have reported less. */
  get before(): readonly Charge[] {
    return this.#before;
  }

  #enter(attempt: number): void {
    if (attempt === this.#attempt) return;
    this.#before.push(...this.#current.charges);
    if (this.#attempt !== 0 && !this.#goesOn) this.#current = new Transcript();
    this.#current.settle();
    this.#attempt = attempt;
    this.#goesOn = true;
  }
}
