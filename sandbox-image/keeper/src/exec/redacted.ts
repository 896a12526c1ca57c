import type { Clock } from '../clock.ts';
import type { StreamBytes } from '../link/messages.ts';
import type { Redacting, Redactor } from '@agentfleet/protocol/redact';
import type { StreamName } from './output.ts';

/** Takes the raw output of a command. */
export interface OutputTaker {
  readonly dropped: StreamBytes;
  push(stream: StreamName, bytes: Buffer): Promise<void> | undefined;
  finish(): Promise<void>;
}

/** What a program asks is shown after so long, although its last word may go on. */
const settleMs = 200;

/** Takes secrets out of both streams before anything of them is kept, however their bytes are cut. */
export class RedactedOutput implements OutputTaker {
  readonly #next: OutputTaker;
  readonly #clock: Clock;
  readonly #redactors: Readonly<Record<StreamName, Redactor>>;
  #stopTimer: (() => void) | null = null;

  constructor(next: OutputTaker, redacting: Redacting, clock: Clock) {
    this.#next = next;
    this.#clock = clock;
    this.#redactors = { stdout: redacting.redactor(), stderr: redacting.redactor() };
  }

  get dropped(): StreamBytes {
    return this.#next.dropped;
  }

  push(stream: StreamName, bytes: Buffer): Promise<void> | undefined {
    this.#stopTimer?.();
    this.#stopTimer = null;
    const told = this.#give(stream, this.#redactors[stream].push(bytes.toString('latin1')));
    if (this.#redactors[stream].held > 0) this.#stopTimer = this.#clock.after(settleMs, () => this.#settle());
    return told;
  }

  async finish(): Promise<void> {
    this.#stopTimer?.();
    for (const stream of ['stdout', 'stderr'] as const) await this.#give(stream, this.#redactors[stream].finish());
    await this.#next.finish();
  }

  #settle(): void {
    this.#stopTimer = null;
    for (const stream of ['stdout', 'stderr'] as const) void this.#give(stream, this.#redactors[stream].settle());
  }

  #give(stream: StreamName, text: string): Promise<void> | undefined {
    return text === '' ? undefined : this.#next.push(stream, Buffer.from(text, 'latin1'));
  }
}
