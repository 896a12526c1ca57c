import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../logger.ts';
import type { ChildPlan } from './plan.ts';

/** How a process ended; the start may have failed before there was one. */
export interface LastExit {
  readonly code: number | null;
  readonly signal: string | null;
  readonly error?: string;
}

/** What is told of a server. */
export interface ChildState {
  readonly name: string;
  readonly ready: boolean;
  readonly restarts: number;
  readonly lastExit: LastExit | null;
}

export interface ChildOptions {
  readonly plan: ChildPlan;
  readonly spawn: (plan: ChildPlan) => ChildProcess;
  /** Whether its server says that it is ready. Never rejects. */
  readonly ask: (plan: ChildPlan, signal: AbortSignal) => Promise<boolean>;
  readonly logger: Logger;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Up for so long, a server that ends did not end because of its start. */
const soundMs = 60_000;
const longestPauseMs = 60_000;
const lookEveryMs = 200;

/** How long to wait before a start, after so many that failed one after another. Pure. */
export function backOffMs(failures: number): number {
  return Math.min(longestPauseMs, 1000 * 2 ** Math.max(0, failures - 1));
}

/** Failures in a row after one more end. Pure. */
export function failuresAfter(failures: number, upMs: number): number {
  return upMs >= soundMs ? 1 : failures + 1;
}

/** A server that is started again whenever it ends. */
export class Child {
  readonly plan: ChildPlan;
  readonly #options: ChildOptions;
  readonly #came = Promise.withResolvers<void>();
  #process: ChildProcess | null = null;
  #restarts = 0;
  #lastExit: LastExit | null = null;

  constructor(options: ChildOptions) {
    this.plan = options.plan;
    this.#options = options;
  }

  /** Resolves when it was ready once, or ended: nobody waits for it any longer. */
  get came(): Promise<void> {
    return this.#came.promise;
  }

  async state(signal: AbortSignal): Promise<ChildState> {
    const { ask } = this.#options;
    const ready = this.#process !== null && (await ask(this.plan, signal));
    return { name: this.plan.name, ready, restarts: this.#restarts, lastExit: this.#lastExit };
  }

  /** Keeps it running until the signal fires and its process has ended. */
  async run(stopping: AbortSignal): Promise<void> {
    const { logger, now } = this.#options;
    const { name } = this.plan;
    for (let failures = 0; !stopping.aborted; this.#restarts += 1) {
      const began = now();
      this.#lastExit = await this.#once(stopping);
      this.#came.resolve();
      if (stopping.aborted) return;
      failures = failuresAfter(failures, now() - began);
      const pauseMs = backOffMs(failures);
      logger.log('error', 'a server ended and is started again', { server: name, pauseMs, ...this.#lastExit });
      await delay(pauseMs, undefined, { signal: stopping }).catch(() => undefined);
    }
  }

  /** Passes a signal on. */
  kill(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  async #once(stopping: AbortSignal): Promise<LastExit> {
    const process = this.#options.spawn(this.plan);
    this.#process = process;
    const over = new AbortController();
    const looking = this.#look(AbortSignal.any([over.signal, stopping]));
    try {
      const [code, signal] = (await once(process, 'exit')) as [number | null, NodeJS.Signals | null];
      return { code, signal };
    } catch (error) {
      return { code: null, signal: null, error: error instanceof Error ? error.message : String(error) };
    } finally {
      this.#process = null;
      over.abort();
      await looking;
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (await this.#options.ask(this.plan, signal)) return this.#came.resolve();
      await delay(lookEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
