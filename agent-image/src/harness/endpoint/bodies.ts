import { deadline, type Clock } from '@agentfleet/kube';
import { Refusal, type Exchange } from './relay.ts';

const arriveMs = 30_000;

interface BodyBounds {
  /** Largest body, bytes. */
  readonly bytes: number;
  /** Memory of all bodies that are held, bytes. */
  readonly held: number;
  readonly requests: number;
}

const mebibyte = 1024 * 1024;
/** Requests to the model, and calls of tools: what these hold is parsed while they wait. */
export const modelBounds: BodyBounds = { bytes: 16 * mebibyte, held: 32 * mebibyte, requests: 64 };
export const actBounds: BodyBounds = { bytes: mebibyte, held: 4 * mebibyte, requests: 16 };

/** Bodies of requests that are open: a program must not fill the memory of its worker. */
export class Bodies {
  readonly #bounds: BodyBounds;
  readonly #clock: Clock;
  #requests = 0;
  #held = 0;

  constructor(bounds: BodyBounds, clock: Clock) {
    this.#bounds = bounds;
    this.#clock = clock;
  }

  /**
   * Reads the body of a request and holds it until `work` is done.
   *
   * @throws Refusal 408, 413, 429; the signal's reason
   */
  async hold(exchange: Exchange, work: (body: Buffer) => Promise<void>): Promise<void> {
    const { requests, bytes } = this.#bounds;
    if (this.#requests >= requests) throw refused(429, 'TooManyRequests', `${requests} requests are open already; wait for their answers`);
    const body = new ArrayBuffer(0, { maxByteLength: bytes });
    this.#requests += 1;
    try {
      await this.#read(exchange, body);
      await work(Buffer.from(body));
    } finally {
      this.#requests -= 1;
      this.#held -= body.byteLength;
    }
  }

  async #read({ request, response, signal }: Exchange, body: ArrayBuffer): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const limit = deadline(this.#clock, arriveMs, signal);
    const onAbort = (): void => {
      if (limit.expired()) return reject(refused(408, 'RequestTimeout', `the request was not whole within ${arriveMs / 1000} s`));
      response.destroy();
      reject(signal.reason as Error);
    };
    const onData = (part: Buffer): void => {
      try {
        this.#add(body, part);
      } catch (error) {
        reject(error);
      }
    };
    limit.signal.addEventListener('abort', onAbort, { once: true });
    request.on('data', onData).once('end', resolve);
    try {
      await promise;
    } finally {
      limit.dispose();
      // Data that still arrives is dropped.
      request.off('data', onData).off('end', resolve).resume();
    }
  }

  /** Copies: a part of one byte holds all of what it was cut from. @throws Refusal */
  #add(body: ArrayBuffer, part: Buffer): void {
    const { bytes: most, held } = this.#bounds;
    const at = body.byteLength;
    if (at + part.length > most) throw refused(413, 'RequestTooLarge', `the request has more than ${most} bytes; shorten it`);
    if (this.#held + part.length > held)
      throw refused(429, 'TooManyRequests', `the requests that are open have more than ${held} bytes; wait for their answers`);
    body.resize(at + part.length);
    new Uint8Array(body).set(part, at);
    this.#held += part.length;
  }
}

/** A refusal of a request that may not be whole: its connection is used no more. */
function refused(status: number, code: string, message: string): Refusal {
  const headers = { connection: 'close', ...(status === 429 && { 'retry-after': '1' }) };
  return new Refusal(status, code, message, { headers });
}
