import type { BackgroundProcess, LoopMemory, PlanItem, UndoPoint } from '../tools/tool.ts';
import type { Transcript } from './transcript.ts';

/** What tools see of a transcript, and what they add to it during one call. */
export class TranscriptMemory implements LoopMemory {
  readonly #transcript: Transcript;
  readonly #stored = new Map<string, string>();
  #plan: readonly PlanItem[] | undefined;

  constructor(transcript: Transcript) {
    this.#transcript = transcript;
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

  store(callKey: string, text: string): string {
    const handle = `out-${callKey}${this.#stored.size === 0 ? '' : `-${this.#stored.size}`}`;
    this.#stored.set(handle, text);
    return handle;
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
