import type { ConversationMessage, TokenUsage, ToolCall } from '@agentfleet/protocol/chat';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import type { ModelProposal } from '../models/models.ts';
import type { LoopMemory, PlanItem, UndoPoint } from '../tools/tool.ts';

/** A snapshot as the event log names it: a sandbox that was rebuilt gives ids anew, and keeps digests. */
export type TreeMark = Pick<UndoPoint, 'id' | 'digest'>;

/**
 * What the loop writes into the keeper's hash chain, before it acts on it. All of a conversation is in these notes: the worker
 * that wrote them and one that takes over apply them with the same reducer and so have the same state.
 */
export interface LoopNotes {
  /** The prefix, which never changes; `tree` is what the conversation begins on. */
  readonly ConversationBegan: { readonly system: string; readonly goal: string; readonly expert: string; readonly tree: TreeMark };
  /** A request is about to be sent; `reserved` is charged when its answer is never seen. */
  readonly ModelAsked: { readonly step: number; readonly request: string; readonly n: number; readonly reserved: Charge };
  readonly ModelReplied: {
    readonly step: number;
    readonly request: string;
    readonly proposals: readonly ModelProposal[];
    readonly charged: Charge;
  };
  /** Which proposal is acted on, and by what. */
  readonly ReplyChosen: { readonly step: number; readonly index: number; readonly signals: Readonly<Record<string, unknown>> };
  readonly CallObserved: CallObserved;
  /** A text that was too long for an observation. */
  readonly TextKept: { readonly step: number; readonly handle: string; readonly text: string };
  /** A message that no model wrote; `order` names the AgentTaskOrder of a person's. */
  readonly NoticeGiven: {
    readonly step: number;
    readonly origin: 'Notice' | 'Person';
    readonly text: string;
    readonly order?: string;
    readonly about?: string;
  };
  /** The first `messages` of the history gave way to a summary. */
  readonly ConversationCompacted: { readonly step: number; readonly messages: number; readonly summary: string };
  /** The tree is that after `toStep` again and nothing newer was kept: what came after it was not done. */
  readonly ConversationRewound: { readonly step: number; readonly toStep: number };
  /** A submission that the checks refused. */
  readonly SubmissionRefused: { readonly step: number; readonly why: string };
}

/** What one request costs. */
export interface Charge {
  readonly usage: TokenUsage;
  /** Millionths of the pool's currency; null where no price is known. */
  readonly costMicros: number | null;
}

/** What came of one call, as the model gets to see it. */
export interface CallObserved {
  readonly step: number;
  /** Index of the call in its reply. */
  readonly index: number;
  readonly callId: string;
  readonly tool: string;
  readonly text: string;
  readonly ok: boolean;
  /** The rule that refused it; absent: it was done. */
  readonly refused?: string;
  /** The tree after it, where it changed. */
  readonly tree?: TreeMark;
  /** The tree is an earlier one again. */
  readonly restored?: UndoPoint;
  readonly plan?: readonly PlanItem[];
  /** The model handed in; in words. */
  readonly answer?: string;
  readonly energy?: number;
}

type Kind = keyof LoopNotes;
interface Recorded {
  readonly step: number;
  readonly message: ConversationMessage;
}

/** The reply that is being acted on. */
export interface OpenReply {
  readonly step: number;
  readonly proposals: readonly ModelProposal[];
  readonly chosen: number | null;
  readonly observed: ReadonlySet<number>;
}

/** The conversation of one attempt, as its notes say. */
export class Transcript {
  #began: LoopNotes['ConversationBegan'] | null = null;
  #history: Recorded[] = [];
  #open: OpenReply | null = null;
  #step = 0;
  #trees: UndoPoint[] = [];
  #lost: Charge[] = [];
  #asked: LoopNotes['ModelAsked'] | null = null;
  #charges: Charge[] = [];
  readonly #orders = new Set<string>();
  readonly #about = new Set<string>();
  readonly #texts = new Map<string, string>();
  #plan: readonly PlanItem[] = [];
  #refusedSubmissions = 0;
  #observations: CallObserved[] = [];

  /** Changes the state by one note. */
  apply<K extends Kind>(kind: K, data: LoopNotes[K]): void {
    (this.#reducers[kind] as (note: LoopNotes[K]) => void)(data);
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

  /** What came after System and Goal. */
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

  /** What was spent; a request whose answer nobody saw counts as its reservation. */
  get charges(): readonly Charge[] {
    return [...this.#charges, ...this.#lost, ...(this.#asked === null ? [] : [estimated(this.#asked.reserved)])];
  }

  /** An attempt that goes on with the conversation of an earlier one does not pay for it again. */
  settle(): void {
    this.#charges = [];
    this.#lost = [];
    this.#asked = null;
  }

  get observations(): readonly CallObserved[] {
    return this.#observations;
  }

  get refusedSubmissions(): number {
    return this.#refusedSubmissions;
  }

  hasOrder(order: string): boolean {
    return this.#orders.has(order);
  }

  /** Whether a notice about something was given already. */
  wasToldAbout(about: string): boolean {
    return this.#about.has(about);
  }

  text(handle: string): string | null {
    return this.#texts.get(handle) ?? null;
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
      if (this.#asked !== null) this.#lost.push(estimated(this.#asked.reserved));
      this.#asked = note;
    },
    ModelReplied: ({ step, request, proposals, charged }) => {
      if (this.#asked?.request === request) this.#asked = null;
      this.#charges.push(charged);
      this.#step = step;
      this.#open = { step, proposals, chosen: null, observed: new Set() };
    },
    ReplyChosen: ({ step, index }) => {
      const proposal = this.#open?.proposals[index];
      if (this.#open === null || proposal === undefined) return;
      this.#open = { ...this.#open, chosen: index };
      this.#say(step, assistant(proposal));
      if (proposal.calls.length === 0) this.#open = null;
    },
    CallObserved: (note) => {
      const { step, index, callId, tool, text, tree, restored, plan } = note;
      this.#say(step, { role: 'Tool', callId, name: tool, text });
      this.#observations.push(note);
      if (plan !== undefined) this.#plan = plan;
      if (tree !== undefined) this.#keepTree({ step, ...tree });
      if (restored !== undefined) this.#trees = [...this.#trees.filter((one) => one.step < restored.step), restored];
      if (this.#open === null) return;
      const observed = new Set([...this.#open.observed, index]);
      const { chosen, proposals } = this.#open;
      const calls = chosen === null ? [] : (proposals[chosen]?.calls ?? []);
      this.#open = observed.size >= calls.length ? null : { ...this.#open, observed };
    },
    TextKept: ({ handle, text }) => void this.#texts.set(handle, text),
    NoticeGiven: ({ step, origin, text, order, about }) => {
      this.#say(step, { role: 'User', origin, text });
      if (order !== undefined) this.#orders.add(order);
      if (about !== undefined) this.#about.add(about);
    },
    ConversationCompacted: ({ step, messages, summary }) => {
      const message = { role: 'User', origin: 'Summary', text: summary } as const;
      this.#history = [{ step, message }, ...this.#history.slice(messages)];
    },
    ConversationRewound: ({ toStep }) => {
      this.#history = this.#history.filter(({ step }) => step <= toStep);
      this.#trees = this.#trees.filter(({ step }) => step <= toStep);
      this.#observations = this.#observations.filter(({ step }) => step <= toStep);
      this.#open = null;
    },
    SubmissionRefused: () => void (this.#refusedSubmissions += 1),
  };

  #say(step: number, message: ConversationMessage): void {
    this.#history.push({ step, message });
  }

  /** One tree a step: the newest of it. */
  #keepTree(tree: UndoPoint): void {
    this.#trees = [...this.#trees.filter(({ step }) => step !== tree.step || step === 0), tree];
  }
}

function assistant({ text, calls, providerState }: ModelProposal): ConversationMessage {
  return { role: 'Assistant', text, calls, ...(providerState !== undefined && { providerState }) };
}

function estimated({ usage, costMicros }: Charge): Charge {
  return { usage: { ...usage, estimated: true }, costMicros };
}

/** The calls of a reply that have no observation yet, with their index. */
export function openCalls({ proposals, chosen, observed }: OpenReply): readonly { readonly call: ToolCall; readonly index: number }[] {
  const calls = chosen === null ? [] : (proposals[chosen]?.calls ?? []);
  return calls.map((call, index) => ({ call, index })).filter(({ index }) => !observed.has(index));
}

const kinds: ReadonlySet<string> = new Set<Kind>([
  'ConversationBegan',
  'ModelAsked',
  'ModelReplied',
  'ReplyChosen',
  'CallObserved',
  'TextKept',
  'NoticeGiven',
  'ConversationCompacted',
  'ConversationRewound',
  'SubmissionRefused',
]);

/**
 * Reads the conversation of an attempt out of an event log. An attempt that follows one which the infrastructure ended goes on
 * with its conversation; any other begins its own.
 */
export class TranscriptReader {
  #current = new Transcript();
  #attempt = 0;
  #goesOn = false;

  readonly visit = ({ type, body }: AuditRecord): void => {
    if (type !== 'Noted') return;
    const { kind, data } = body as { readonly kind?: unknown; readonly data?: unknown };
    if (typeof kind !== 'string' || typeof data !== 'object' || data === null) return;
    const { attempt } = data as { readonly attempt?: unknown };
    if (typeof attempt !== 'number') return;
    if (kind === 'Outcome') this.#goesOn = (data as { readonly class?: unknown }).class === 'Infrastructure';
    if (!kinds.has(kind)) return;
    this.#enter(attempt);
    this.#current.apply(kind as Kind, data as LoopNotes[Kind]);
  };

  /** The conversation that an attempt goes on with; empty when it has to begin one. */
  of(attempt: number): Transcript {
    this.#enter(attempt);
    return this.#current;
  }

  #enter(attempt: number): void {
    if (attempt === this.#attempt) return;
    if (this.#attempt !== 0 && !this.#goesOn) this.#current = new Transcript();
    this.#current.settle();
    this.#attempt = attempt;
    this.#goesOn = false;
  }
}

/** What tools see of a transcript, and what they add to it. */
export class TranscriptMemory implements LoopMemory {
  readonly #transcript: Transcript;
  /** Texts that were stored and are not in the log yet. */
  readonly pending = new Map<string, string>();
  /** The plan that a tool wrote during this call; undefined: none. */
  written: readonly PlanItem[] | undefined;

  constructor(transcript: Transcript) {
    this.#transcript = transcript;
  }

  get plan(): readonly PlanItem[] {
    return this.written ?? this.#transcript.plan;
  }

  set plan(items: readonly PlanItem[]) {
    this.written = items;
  }

  get undoPoints(): readonly UndoPoint[] {
    return this.#transcript.trees;
  }

  store(callKey: string, text: string): string {
    const handle = `out-${callKey}${this.pending.size === 0 ? '' : `-${this.pending.size}`}`;
    this.pending.set(handle, text);
    return handle;
  }

  stored(handle: string): string | null {
    return this.pending.get(handle) ?? this.#transcript.text(handle);
  }
}
