import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bearer } from '@agentfleet/protocol/tokens';
import type { Identity, Purpose } from './member.ts';
import type { Asking, Greeting, Memory, UseLine, Welcome } from './wire.ts';

export interface TurnstileClientOptions {
  /** `http://host:port` of the turnstile. */
  readonly turnstile: string;
  readonly self: Identity;
  /** Undefined: it is asked without a token. */
  readonly bearer?: Bearer;
  /** A name for each use. */
  readonly newId: () => string;
}

/** A use that was not granted in its time. */
export class NoTurnError extends Error {
  constructor(millis: number, heard: boolean) {
    const why = heard ? 'other engines have the GPU' : 'the turnstile does not answer';
    super(`no turn on the GPU within ${Math.round(millis)} ms: ${why}`);
    this.name = 'NoTurnError';
  }
}

/** Of a use that is granted. */
export interface UseOptions {
  readonly signal: AbortSignal;
  /** It is given up when it is not granted in this time, ms. */
  readonly withinMs: number;
}

/** The next try after a connection that broke, ms. */
const againMs = 100;
/** A stream that says nothing for so long is broken, ms. */
const silenceMs = 8_000;
/** How often the server says that it is there, and how long it waits for an answer, ms. */
const greetMs = 2_000;
const answerMs = 3_000;

/** An engine's side of the turnstile: uses, and the word that it is there. A turnstile that starts anew hears of both again. */
export class TurnstileClient {
  readonly #options: TurnstileClientOptions;
  readonly #end = new AbortController();
  #memory: Memory = { boot: null, members: [] };
  #load: string | null = null;
  #greeting: Promise<void> | undefined;

  constructor(options: TurnstileClientOptions) {
    this.#options = options;
  }

  /** Name of the process of the engine, as the turnstile saw it; null: it told none yet. */
  get load(): string | null {
    return this.#load;
  }

  /** From now on it says again and again that it is there. */
  start(): void {
    this.#greeting ??= this.#greet();
  }

  /** Says that it is there no longer. */
  async close(): Promise<void> {
    this.#end.abort();
    await this.#greeting;
    await this.#send('DELETE', `/v1/members/${encodeURIComponent(this.#options.self.pod)}`).catch(() => undefined);
  }

  /** Runs in a turn of the engine. @throws NoTurnError */
  async use<T>(run: (waitedMs: number) => Promise<T>, { signal, withinMs }: UseOptions): Promise<T> {
    const started = performance.now();
    const id = this.#options.newId();
    const over = new AbortController();
    const kept = this.#keep(id, 'Serve', AbortSignal.any([over.signal, signal]));
    try {
      await within(kept, withinMs, signal);
      return await run(performance.now() - started);
    } finally {
      over.abort();
      // A word that is lost costs the others a moment: the connection ended too.
      void this.#send('DELETE', `/v1/uses/${id}`).catch(() => undefined);
    }
  }

  /** Resolves when the engine may start. */
  async mayLoad(signal: AbortSignal, onRetry: (error: unknown) => void): Promise<void> {
    const over = new AbortController();
    const kept = this.#keep(this.#options.newId(), 'Load', AbortSignal.any([over.signal, signal]), onRetry);
    try {
      await Promise.race([kept.granted, once(signal, 'abort', { signal: over.signal })]);
      signal.throwIfAborted();
    } finally {
      over.abort();
    }
  }

  #keep(id: string, purpose: Purpose, signal: AbortSignal, onRetry?: (error: unknown) => void): Kept {
    const { promise, resolve } = Promise.withResolvers<void>();
    const kept = { granted: promise, heard: false };
    void this.#hold({ id, purpose }, kept, { grant: resolve, onRetry: onRetry ?? (() => undefined) }, signal);
    return kept;
  }

  /** Keeps a use until the signal fires. Once it was granted it is under way, whoever asks for the connection again. */
  async #hold(use: Pick<Asking, 'id' | 'purpose'>, kept: { heard: boolean }, on: HoldEvents, signal: AbortSignal): Promise<void> {
    for (let held = false; !signal.aborted;) {
      try {
        for await (const line of this.#lines({ ...use, held }, signal)) {
          kept.heard = true;
          this.#memory = { boot: line.boot, members: line.members };
          if (line.state !== 'Granted') continue;
          held = true;
          on.grant();
        }
      } catch (error) {
        if (!signal.aborted) on.onRetry(error);
      }
      kept.heard = false;
      await pause(againMs, signal);
    }
  }

  async *#lines(use: Pick<Asking, 'id' | 'purpose' | 'held'>, signal: AbortSignal): AsyncGenerator<UseLine> {
    const silent = new AbortController();
    const watch = setTimeout(() => silent.abort(new Error(`the turnstile said nothing for ${silenceMs} ms`)), silenceMs);
    const asking: Asking = { ...use, ...this.#options.self, ...this.#memory };
    try {
      const response = await this.#fetch('POST', '/v1/uses', asking, AbortSignal.any([signal, silent.signal]));
      for await (const text of linesOf(response)) {
        watch.refresh();
        yield JSON.parse(text) as UseLine;
      }
    } finally {
      clearTimeout(watch);
      silent.abort();
    }
  }

  async #greet(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      const greeting: Greeting = { ...this.#options.self, ...this.#memory, load: this.#load };
      const welcome = await this.#send('POST', '/v1/members', greeting).then(
        (response) => response.json() as Promise<Welcome>,
        () => undefined,
      );
      if (welcome !== undefined) {
        this.#memory = { boot: welcome.boot, members: welcome.members };
        this.#load = welcome.load;
      }
      await pause(welcome === undefined ? againMs * 5 : greetMs, signal);
    }
  }

  #send(method: string, path: string, body?: object): Promise<Response> {
    return this.#fetch(method, path, body, AbortSignal.timeout(answerMs));
  }

  async #fetch(method: string, path: string, body: object | undefined, signal: AbortSignal): Promise<Response> {
    const token = await this.#options.bearer?.();
    const headers: Record<string, string> = {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: token }),
    };
    const init = { method, headers, signal, redirect: 'error' } as const;
    const url = `${this.#options.turnstile}${path}`;
    const response = await fetch(url, body === undefined ? init : { ...init, body: JSON.stringify(body) });
    if (response.ok) return response;
    throw new Error(`the turnstile answered ${method} ${path} with ${response.status}: ${(await response.text()).slice(0, 300)}`);
  }
}

/** A use that is kept, and whether the turnstile is heard. */
interface Kept {
  readonly granted: Promise<void>;
  readonly heard: boolean;
}

interface HoldEvents {
  readonly grant: () => void;
  readonly onRetry: (error: unknown) => void;
}

async function within(kept: Kept, millis: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const late = delay(millis, undefined, { signal: AbortSignal.any([signal, over.signal]) }).then(() => {
    throw new NoTurnError(millis, kept.heard);
  });
  try {
    await Promise.race([kept.granted, late]);
  } finally {
    over.abort();
  }
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

/** Waits, or not any longer when the signal fires. */
async function pause(millis: number, signal: AbortSignal): Promise<void> {
  await delay(millis, undefined, { signal }).catch(() => undefined);
}
