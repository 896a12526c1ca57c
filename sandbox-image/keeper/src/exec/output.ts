import { isUtf8 } from 'node:buffer';
import type { ExecEvent, ExecEnd } from '@agentfleet/protocol/keeper';
import type { Clock } from '../base/clock.ts';
import type { StreamBytes } from '../link/messages.ts';
import type { Redacting, Redactor } from '@agentfleet/protocol/redact';
import { lastEvent } from './archive.ts';
import type { FollowSource } from './journal.ts';

export type StreamName = 'stdout' | 'stderr';

type OutEvent = Extract<ExecEvent, { type: 'out' }>;
/** An output event before it has its number. */
export type Output = OutEvent extends infer E ? (E extends OutEvent ? Omit<E, 'seq'> : never) : never;

export interface OutputSink {
  /** A returned promise asks to wait with more. */
  emit(output: Output): Promise<void> | undefined;
  /** Receives the bytes over the limit, in order; the receiver owns them. */
  overflow?(stream: StreamName, bytes: Buffer): Promise<void> | undefined;
}

const flushBytes = 32 * 1024;
const flushMs = 5;

/**
 * Turns raw output into events: small writes of one stream become one event (within 5 ms), a
 * character that was split between writes is held back until it is whole, bytes that are no UTF-8
 * travel as base64. Bytes over the limit are counted and dropped.
 */
export class OutputEncoder {
  readonly #sink: OutputSink;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #tails: Record<StreamName, Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  readonly #dropped: Record<StreamName, number> = { stdout: 0, stderr: 0 };
  #taken = 0;
  #stream: StreamName = 'stdout';
  #chunks: Buffer[] = [];
  #bytes = 0;
  #stopTimer: (() => void) | null = null;

  constructor(sink: OutputSink, clock: Clock, limitBytes: number) {
    this.#sink = sink;
    this.#clock = clock;
    this.#limit = limitBytes;
  }

  get dropped(): StreamBytes {
    return this.#dropped;
  }

  push(stream: StreamName, bytes: Buffer): Promise<void> | undefined {
    const kept = bytes.subarray(0, Math.max(0, this.#limit - this.#taken));
    this.#dropped[stream] += bytes.length - kept.length;
    this.#taken += kept.length;
    const over = bytes.length === kept.length ? undefined : this.#sink.overflow?.(stream, Buffer.from(bytes.subarray(kept.length)));
    const switched = (stream === this.#stream ? undefined : this.#flush()) ?? over;
    this.#stream = stream;
    if (kept.length === 0) return switched;
    // Copied: the chunk is a view into the parser's buffer and may outlive it here.
    this.#chunks.push(Buffer.from(kept));
    this.#bytes += kept.length;
    if (this.#bytes >= flushBytes) return this.#flush() ?? switched;
    this.#stopTimer ??= this.#clock.after(flushMs, () => void this.#flush());
    return switched;
  }

  /** Emits everything that is held, also characters that never became whole. */
  async finish(): Promise<void> {
    await this.#flush();
    for (const stream of ['stdout', 'stderr'] as const) {
      const tail = this.#tails[stream];
      this.#tails[stream] = Buffer.alloc(0);
      if (tail.length > 0) await this.#sink.emit(binary(stream, tail));
    }
  }

  #flush(): Promise<void> | undefined {
    this.#stopTimer?.();
    this.#stopTimer = null;
    if (this.#bytes === 0) return undefined;
    const stream = this.#stream;
    const bytes = Buffer.concat([this.#tails[stream], ...this.#chunks]);
    this.#chunks = [];
    this.#bytes = 0;
    const whole = bytes.length - incompleteTail(bytes);
    this.#tails[stream] = bytes.subarray(whole);
    return whole === 0 ? undefined : this.#sink.emit(encode(stream, bytes.subarray(0, whole)));
  }
}

function encode(stream: StreamName, bytes: Buffer): Output {
  if (!isUtf8(bytes)) return binary(stream, bytes);
  const text = bytes.toString('utf8');
  // JSON writes a control character as six: output that is mostly control characters is shorter as base64.
  return JSON.stringify(text).length > bytes.length * 2 + 64 ? binary(stream, bytes) : { type: 'out', stream, text };
}

function binary(stream: StreamName, bytes: Buffer): Output {
  return { type: 'out', stream, b64: bytes.toString('base64') };
}

/** Returns how many bytes at the end begin an incomplete character: 0 to 3. */
export function incompleteTail(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80 || byte > 0xf4) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}

/** Takes the raw output of a command. */
export type OutputTaker = Pick<OutputEncoder, 'dropped' | 'finish' | 'push'>;

/** A prompt of a program is shown after this time, although its last word may be incomplete. */
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
    const given = this.#give(stream, this.#redactors[stream].push(bytes.toString('latin1')));
    if (this.#redactors[stream].held > 0) this.#stopTimer = this.#clock.after(settleMs, () => this.#settle());
    return given;
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

/**
 * Detects that a command writes nothing for a while, once in each silence. It only observes. Output costs no timer: a
 * timer that fires too early is set again.
 */
export class Silence {
  readonly #ms: number;
  readonly #clock: Clock;
  readonly #onQuiet: (silentMs: number) => void;
  #last = 0;
  #stop: (() => void) | null = null;
  #over = false;

  constructor(ms: number, clock: Clock, onQuiet: (silentMs: number) => void) {
    this.#ms = ms;
    this.#clock = clock;
    this.#onQuiet = onQuiet;
  }

  heard(): void {
    if (this.#over) return;
    this.#last = this.#clock.monotonic();
    if (this.#stop === null) this.#arm(this.#ms);
  }

  end(): void {
    this.#over = true;
    this.#stop?.();
    this.#stop = null;
  }

  #arm(ms: number): void {
    this.#stop = this.#clock.after(ms, () => {
      this.#stop = null;
      const silentMs = this.#clock.monotonic() - this.#last;
      if (silentMs < this.#ms) return this.#arm(this.#ms - silentMs);
      this.#onQuiet(Math.round(silentMs));
    });
  }
}

/** The end of a command, or null when it has not ended within `ms`. The command is not touched. */
export async function waitForEnd(
  source: FollowSource,
  ms: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ExecEnd | null> {
  const over = Promise.withResolvers<void>();
  const stop = clock.after(ms, over.resolve);
  signal.addEventListener('abort', () => over.resolve(), { once: true });
  let late = false;
  void over.promise.then(() => {
    late = true;
  });
  try {
    for (;;) {
      const change = source.changed();
      if (source.ended) return await lastEvent(source.file);
      if (late) return null;
      await Promise.race([change, over.promise]);
    }
  } finally {
    stop();
  }
}
