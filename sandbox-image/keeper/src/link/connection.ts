import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { messageOf } from '../failure.ts';
import type { CommandMessage, RunnerInfo, SessionMessage, ToRunner } from './messages.ts';

/** A frame of the link: a JSON object with a member `t`, and raw bytes. */
export interface Frame {
  readonly header: FrameHeader;
  readonly body: Buffer;
}

export type FrameHeader = Readonly<Record<string, unknown>> & { readonly t: string };

export interface FrameLimits {
  readonly header: number;
  readonly body: number;
}

/** Limits of an authenticated link, in bytes. */
export const frameLimits: FrameLimits = { header: 1024 * 1024, body: 1024 * 1024 };
/** Limits before that: who has not proved to be the runner gets no memory. */
export const handshakeLimits: FrameLimits = { header: 4096, body: 0 };

/** The other side broke the contract: the link must be closed. */
export class FrameError extends Error {}

const prefixBytes = 8;

/** @throws FrameError when the frame is over a limit */
export function encodeFrame(header: FrameHeader, body: Uint8Array = new Uint8Array(0)): Buffer {
  const text = Buffer.from(JSON.stringify(header), 'utf8');
  if (text.length > frameLimits.header) throw new FrameError(`the header has ${text.length} bytes, ${frameLimits.header} are allowed`);
  if (body.length > frameLimits.body) throw new FrameError(`the body has ${body.length} bytes, ${frameLimits.body} are allowed`);
  const prefix = Buffer.allocUnsafe(prefixBytes);
  prefix.writeUInt32BE(text.length, 0);
  prefix.writeUInt32BE(body.length, 4);
  return Buffer.concat([prefix, text, body]);
}

/** Cuts a byte stream into frames, however it is chunked. Holds at most one incomplete frame. */
export class FrameParser {
  #limits: FrameLimits;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  set limits(limits: FrameLimits) {
    this.#limits = limits;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  /** The next whole frame, or null when more bytes are needed. @throws FrameError */
  next(): Frame | null {
    if (this.#bytes < prefixBytes) return null;
    const prefix = this.#peek(prefixBytes);
    const headerBytes = prefix.readUInt32BE(0);
    const bodyBytes = prefix.readUInt32BE(4);
    if (headerBytes > this.#limits.header) throw new FrameError(`a header of ${headerBytes} bytes is over the limit`);
    if (bodyBytes > this.#limits.body) throw new FrameError(`a body of ${bodyBytes} bytes is over the limit`);
    const total = prefixBytes + headerBytes + bodyBytes;
    if (this.#bytes < total) return null;
    const whole = this.#peek(total);
    this.#chunks = whole.length > total ? [whole.subarray(total), ...this.#chunks.slice(1)] : this.#chunks.slice(1);
    this.#bytes -= total;
    const header = parseHeader(whole.subarray(prefixBytes, prefixBytes + headerBytes));
    return { header, body: whole.subarray(prefixBytes + headerBytes, total) };
  }

  /** The first chunk, grown to at least `bytes`. */
  #peek(bytes: number): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= bytes) return first;
    let count = 0;
    let size = 0;
    while (size < bytes) size += this.#chunks[count++]?.length ?? Number.POSITIVE_INFINITY;
    const joined = Buffer.concat(this.#chunks.slice(0, count));
    this.#chunks = [joined, ...this.#chunks.slice(count)];
    return joined;
  }
}

function parseHeader(bytes: Buffer): FrameHeader {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new FrameError('a header is not JSON');
  }
  if (!isHeader(value)) throw new FrameError('a header is not an object with a member t');
  return value;
}

function isHeader(value: unknown): value is FrameHeader {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 't' in value && typeof value.t === 'string';
}

const protocolVersion = 1;

/** `mac` of the runner's hello. */
export function runnerMac(key: string, keeperNonce: string, runnerNonce: string, instance: string): string {
  return createHmac('sha256', key).update(`agentfleet-link/1 runner\n${keeperNonce}\n${runnerNonce}\n${instance}`).digest('hex');
}

/** `mac` of the keeper's welcome. */
export function keeperMac(key: string, keeperNonce: string, runnerNonce: string): string {
  return createHmac('sha256', key).update(`agentfleet-link/1 keeper\n${runnerNonce}\n${keeperNonce}`).digest('hex');
}

function challenge(nonce: string): FrameHeader {
  return { t: 'challenge', v: protocolVersion, nonce };
}

export type HelloCheck = { readonly instance: string; readonly welcome: FrameHeader } | { readonly refused: string };

/** Whether a frame proves that the sender knows the key. Compares in constant time. */
function checkHello(frame: Frame, key: string, keeperNonce: string): HelloCheck {
  const { t, v, nonce, instance, mac } = frame.header;
  if (t !== 'hello' || v !== protocolVersion) return { refused: 'the first frame is not a hello of version 1' };
  if (typeof nonce !== 'string' || Buffer.from(nonce, 'base64').length < 16) return { refused: 'the nonce is too short' };
  if (typeof instance !== 'string' || !/^[0-9a-f]{32}$/.test(instance)) return { refused: 'the instance is not 32 hexadecimal digits' };
  if (typeof mac !== 'string' || !/^[0-9a-f]{64}$/.test(mac)) return { refused: 'the mac is not 64 hexadecimal digits' };
  const expected = runnerMac(key, keeperNonce, nonce, instance);
  if (!timingSafeEqual(Buffer.from(mac, 'hex'), Buffer.from(expected, 'hex'))) return { refused: 'the mac is wrong' };
  return { instance, welcome: { t: 'welcome', mac: keeperMac(key, keeperNonce, nonce) } };
}

export interface ConnectionEvents {
  /** The peer knows the key. Return false to refuse it all the same (it gets no welcome). */
  authenticated(connection: Connection): boolean;
  /** A frame of an authenticated peer. While a returned promise is pending nothing more is read. */
  frame(connection: Connection, frame: Frame): Promise<void> | undefined;
  closed(connection: Connection, why: string): void;
}

const handshakeMs = 3000;
/** What the other side has for closing after its last frame. */
const lingerMs = 1000;

/** One accepted socket: handshake first, then frames, one at a time and in order. */
export class Connection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #clock: Clock;
  readonly #key: string;
  readonly #nonce: string;
  readonly #parser = new FrameParser(handshakeLimits);
  readonly #stopTimer: () => void;
  #instance: string | null = null;
  #reading = false;
  #closedBecause: string | null = null;

  constructor(socket: Socket, key: string, nonce: string, clock: Clock, events: ConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    this.#clock = clock;
    this.#key = key;
    this.#nonce = nonce;
    this.#stopTimer = clock.after(handshakeMs, () => this.close('the handshake took longer than 3 s'));
    socket.on('data', (chunk: Buffer) => {
      if (this.closed) return;
      this.#parser.push(chunk);
      void this.#read();
    });
    socket.on('error', (error) => this.close(messageOf(error)));
    socket.on('close', () => this.close('the other side closed the link'));
    this.send(challenge(nonce));
  }

  /** Null until the peer has proved that it is the runner. */
  get instance(): string | null {
    return this.#instance;
  }

  get closed(): boolean {
    return this.#closedBecause !== null;
  }

  /** @throws FrameError when the frame is over a limit */
  send(header: FrameHeader, body?: Uint8Array): void {
    if (!this.closed) this.#socket.write(encodeFrame(header, body));
  }

  /** Sends what is queued, then closes. */
  finish(why: string): void {
    if (this.closed) return;
    this.#socket.end();
    this.#clock.after(lingerMs, () => this.#socket.destroy());
    this.close(why, false);
  }

  close(why: string, destroy = true): void {
    if (this.closed) return;
    this.#closedBecause = why;
    this.#stopTimer();
    if (destroy) this.#socket.destroy();
    this.#events.closed(this, why);
  }

  async #read(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    try {
      for (let frame = this.#parser.next(); frame !== null && !this.closed; frame = this.#parser.next()) {
        const slow = this.#accept(frame);
        if (slow === undefined) continue;
        this.#socket.pause();
        await slow;
        this.#socket.resume();
      }
    } catch (error) {
      this.close(messageOf(error));
    } finally {
      this.#reading = false;
    }
  }

  #accept(frame: Frame): Promise<void> | undefined {
    if (this.#instance !== null) return this.#events.frame(this, frame);
    const hello = checkHello(frame, this.#key, this.#nonce);
    if ('refused' in hello) {
      this.close(hello.refused);
      return undefined;
    }
    this.#instance = hello.instance;
    this.#stopTimer();
    this.#parser.limits = frameLimits;
    if (this.#events.authenticated(this)) this.send(hello.welcome);
    return undefined;
  }
}

export interface LinkState {
  /** True from the runner's `info` on: before it nothing is known of the wall. */
  readonly connected: boolean;
  readonly instance: string | null;
  /** Authenticated links since the keeper started. */
  readonly connections: number;
  readonly info: RunnerInfo | null;
}

export interface LinkEvents {
  connected(instance: string, info: RunnerInfo): void;
  lost(instance: string, why: string): void;
  /** While the returned promise is pending the runner is not read: that is the backpressure. */
  message(message: CommandMessage | SessionMessage): Promise<void> | undefined;
}

/** The runner as the rest of the keeper sees it. */
export interface RunnerLink {
  readonly state: LinkState;
  /** One subscriber, set once at start. */
  subscribe(events: LinkEvents): void;
  /** Does nothing without a link; the `lost` event tells. @throws FrameError for a frame over a limit */
  send(message: ToRunner, body?: Uint8Array): void;
  /** Tells the runner to exit and takes no link from this instance again. */
  retire(code: number, why: string): void;
}
