import type { ConversationMessage } from '@agentfleet/protocol/chat';
import { steady, type BackgroundProcess, type LoopMemory, type PlanItem, type UndoPoint } from '../tools/tool.ts';
import type { Transcript } from './transcript.ts';
import type { WorkRecord } from './workRecord.ts';

/** View that tools have of a transcript, and their additions to it during one call. */
export class TranscriptMemory implements LoopMemory {
  readonly #transcript: Transcript;
  readonly #stored = new Map<string, string>();
  readonly #seen = new WeakMap<ConversationMessage, string>();
  readonly #reads: boolean;
  #plan: readonly PlanItem[] | undefined;

  /** @param reads whether the task has the tool that reads what was cut */
  constructor(transcript: Transcript, reads = true) {
    this.#transcript = transcript;
    this.#reads = reads;
  }

  get plan(): readonly PlanItem[] {
    return this.#plan ?? this.#transcript.plan;
  }

  set plan(items: readonly PlanItem[]) {
    this.#plan = items;
  }

  get undoPoints(): readonly UndoPoint[] {
    return this.#transcript.trees;
  }

  get processes(): readonly BackgroundProcess[] {
    return this.#transcript.processes;
  }

  /** Returns the handle by which a cut text is kept whole; none where no tool reads it, and then it is not kept. */
  kept(callKey: string, text: string): { readonly handle?: () => string } {
    const name = `out-${callKey}${this.#stored.size === 0 ? '' : `-${this.#stored.size}`}`;
    const handle = (): string => {
      this.#stored.set(name, text);
      return name;
    };
    return this.#reads ? { handle } : {};
  }

  /** Whether the task has the tool that reads handles. */
  get reads(): boolean {
    return this.#reads;
  }

  shows(text: string): boolean {
    const wanted = steady(text);
    return this.#transcript.history.some((message) => message.role === 'Tool' && this.#steady(message).includes(wanted));
  }

  /** Made once for each message: very many texts may be looked for. */
  #steady(message: ConversationMessage): string {
    const text = this.#seen.get(message) ?? steady(message.text);
    this.#seen.set(message, text);
    return text;
  }

  handleOf(message: ConversationMessage): string | undefined {
    return this.#reads ? this.#transcript.handleOf(message) : undefined;
  }

  get record(): Omit<WorkRecord, 'changed' | 'absent'> {
    const { record } = this.#transcript;
    if (this.#reads) return record;
    const done = record.done.map(({ call, observed, rejected }) => ({ call, observed, ...(rejected !== undefined && { rejected }) }));
    return { ...record, done };
  }

  stored(handle: string): string | null {
    return this.#stored.get(handle) ?? this.#transcript.text(handle);
  }

  /** The texts that this call stored, to be recorded. */
  takeStored(): readonly (readonly [handle: string, text: string])[] {
    const stored = [...this.#stored];
    this.#stored.clear();
    return stored;
  }

  /** The plan that this call wrote, to be recorded; undefined: none. */
  takePlan(): readonly PlanItem[] | undefined {
    const plan = this.#plan;
    this.#plan = undefined;
    return plan;
  }
}
