import { type Frame, type FrameHeader, frameLimits, handshakeLimits, encodeFrame, FrameParser } from './frame.ts';
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/failure.ts';
import type { CommandMessage, RunnerInfo, SessionMessage } from './messages.ts';

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

type HelloCheck = { readonly instance: string; readonly welcome: FrameHeader } | { readonly refused: string };

/** Returns whether a frame proves that the sender has the key. Compares in constant time. */
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
/** Time for the peer to close after the last frame. */
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

  /** Sends queued frames, then closes. */
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
