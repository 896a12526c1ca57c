import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { messageOf } from '../failure.ts';
import { encodeFrame, FrameParser, frameLimits, handshakeLimits, type Frame, type FrameHeader } from './frame.ts';
import { challenge, checkHello } from './handshake.ts';

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
