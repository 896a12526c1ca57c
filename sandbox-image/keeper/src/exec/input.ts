import { createHash, hash } from 'node:crypto';
import type { StdinTaken } from '@agentfleet/protocol/keeper';
import type { Clock } from '../base/clock.ts';
import { KeeperError } from '../base/failure.ts';

/** Longest time until the runner acknowledges a part, ms. */
const answerMs = 5000;

/** Sends one part to the runner. */
export type SendInput = (seq: number, bytes: Buffer, eof: boolean) => void;

/**
 * The open standard input of one command. Parts are numbered, so that one whose answer was lost
 * can be sent again and is written once. One part is under way at a time; nothing waits here.
 */
export class LiveInput {
  readonly #execId: string;
  readonly #clock: Clock;
  readonly #send: SendInput;
  #last = 0;
  #lastDigest = '';
  /** The part that was sent without an acknowledgement; 0: none. */
  #sent = 0;
  #sentDigest = '';
  #answer: ((code: string) => void) | null = null;
  #closed = false;

  constructor(execId: string, clock: Clock, send: SendInput) {
    this.#execId = execId;
    this.#clock = clock;
    this.#send = send;
  }

  /**
   * @param intent records the intent
   * @throws KeeperError `AF_STDIN_BUSY`, `AF_STDIN_CLOSED`, `AF_STDIN_SEQUENCE`
   */
  async write(seq: number, bytes: Buffer, eof: boolean, intent: (sha256: string) => Promise<unknown>): Promise<StdinTaken> {
    const digest = createHash('sha256').update(bytes).update(String(eof)).digest('hex');
    if (seq <= this.#last) return this.#again(seq, digest);
    if (this.#closed) throw closed(this.#execId);
    if (seq !== this.#last + 1)
      throw new KeeperError('AF_STDIN_SEQUENCE', `the next part of ${this.#execId} is ${this.#last + 1}, not ${seq}`);
    if (this.#answer !== null) throw busy(this.#execId);
    if (seq === this.#sent && digest !== this.#sentDigest)
      throw new KeeperError('AF_STDIN_SEQUENCE', `part ${seq} of ${this.#execId} was sent with other bytes, and may have been taken`);
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#answer = resolve;
    try {
      await intent(hash('sha256', bytes));
      if (this.#closed) throw closed(this.#execId);
      const stop = this.#clock.after(answerMs, () => resolve('ETIMEDOUT'));
      [this.#sent, this.#sentDigest] = [seq, digest];
      this.#send(seq, bytes, eof);
      this.#assertTaken(await promise.finally(stop));
      return { execId: this.#execId, seq, repeated: false };
    } finally {
      this.#answer = null;
    }
  }

  /** Takes the runner's answer to a part: an errno name, empty when the part was taken. */
  answered(seq: number, code: string): void {
    if (seq !== this.#last + 1) return;
    // Also when no caller waits any more: a repeated part must not be written twice.
    if (code === '') [this.#last, this.#lastDigest] = [seq, this.#sentDigest];
    this.#sent = 0;
    this.#answer?.(code);
  }

  close(): void {
    this.#closed = true;
    this.#answer?.('ESRCH');
  }

  #again(seq: number, digest: string): StdinTaken {
    if (seq === this.#last && digest !== this.#lastDigest)
      throw new KeeperError('AF_STDIN_SEQUENCE', `part ${seq} of ${this.#execId} was taken with other bytes`);
    return { execId: this.#execId, seq, repeated: true };
  }

  #assertTaken(code: string): void {
    if (code === '') return;
    if (code === 'EAGAIN') throw busy(this.#execId);
    if (code === 'ETIMEDOUT') throw new KeeperError('AF_TOOLS_UNAVAILABLE', `the runner did not answer for the input of ${this.#execId}`);
    throw closed(this.#execId);
  }
}

function busy(execId: string): KeeperError {
  return new KeeperError('AF_STDIN_BUSY', `the input of ${execId} is full`);
}

export function closed(execId: string): KeeperError {
  return new KeeperError('AF_STDIN_CLOSED', `the input of ${execId} is not open`);
}
