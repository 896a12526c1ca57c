import type { Clock } from '@agentfleet/kube';

/** The note with a program's output since the one before. */
export const outputNote = 'ProgramOutput';

/** Characters of one note and of a run, and the interval of notes: longer once a run has used its characters. */
const bounds = { noteChars: 16_384, runChars: 262_144, everyMs: 2000, laterEveryMs: 60_000 } as const;

export interface OutputData {
  readonly text: string;
  /** Characters before `text` that found no room. */
  readonly omitted?: number;
  /** In the last note of a run: bytes after the 16 MiB that the keeper keeps. */
  readonly dropped?: number;
}

/**
 * Records a program's output in the event log while it runs: its newest lines at a bounded rate, and the amount left
 * out. The keeper has removed secrets.
 */
export class OutputNotes {
  readonly #write: (data: OutputData) => Promise<unknown>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #text = '';
  #omitted = 0;
  #spent = 0;
  #writtenAt: number;
  #writing: Promise<unknown> | null = null;

  constructor(clock: Pick<Clock, 'monotonic'>, write: (data: OutputData) => Promise<unknown>) {
    this.#clock = clock;
    this.#write = write;
    this.#writtenAt = clock.monotonic();
  }

  hear(text: string): void {
    const all = this.#text + text;
    this.#text = all.slice(-bounds.noteChars);
    this.#omitted += all.length - this.#text.length;
  }

  /** Writes whole lines where a note is due. Unwritten ones stay for the next one. */
  look(): void {
    const every = this.#spent < bounds.runChars ? bounds.everyMs : bounds.laterEveryMs;
    const now = this.#clock.monotonic();
    if (this.#writing !== null || this.#text === '' || now - this.#writtenAt < every) return;
    this.#writtenAt = now;
    const lines = this.#text.lastIndexOf('\n') + 1;
    const taken = this.#take(lines === 0 ? this.#text.length : lines);
    this.#writing = this.#write(taken)
      .catch(() => this.#putBack(taken))
      .finally(() => (this.#writing = null));
  }

  /** Returns the rest at the end, of which the keeper dropped bytes; null: none. */
  async rest(dropped: number): Promise<OutputData | null> {
    await this.#writing;
    if (this.#text === '' && dropped === 0) return null;
    return { ...this.#take(this.#text.length), ...(dropped > 0 && { dropped }) };
  }

  #take(characters: number): OutputData {
    const text = this.#text.slice(0, characters).toWellFormed();
    const omitted = this.#omitted;
    this.#text = this.#text.slice(characters);
    this.#omitted = 0;
    this.#spent += text.length;
    return { text, ...(omitted > 0 && { omitted }) };
  }

  #putBack({ text, omitted = 0 }: OutputData): void {
    const after = this.#text;
    this.#text = '';
    this.#omitted += omitted;
    this.#spent -= text.length;
    this.hear(text + after);
  }
}
