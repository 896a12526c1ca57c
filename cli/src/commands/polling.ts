import { asError, sleep } from '@agentfleet/kube';
import { isPassing } from '../base/explain.ts';
import { printable } from '@agentfleet/protocol/text';
import type { CommandContext } from './command.ts';

/** Between two looks where the cluster does not answer. */
const longestPauseMs = 30_000;

interface PollingOptions {
  readonly everyMs: number;
  /** Object that is looked at, for the warning. */
  readonly what: string;
  /** The first look may fail, too. */
  readonly exists?: boolean;
}

/** Looks at something again and again. A cluster that answered once and then does not is asked again, less and less often. */
export class Polling {
  readonly #context: Pick<CommandContext, 'clock' | 'signal' | 'warn'>;
  readonly #options: PollingOptions;
  #answered: boolean;
  #failed = 0;

  constructor(context: Pick<CommandContext, 'clock' | 'signal' | 'warn'>, options: PollingOptions) {
    this.#context = context;
    this.#options = options;
    this.#answered = options.exists === true;
  }

  /** Returns what is seen, null while the cluster does not answer. @throws what asking again does not mend */
  async look<T>(ask: () => Promise<T>): Promise<T | null> {
    try {
      const seen = await ask();
      this.#failed = 0;
      this.#answered = true;
      return seen;
    } catch (error) {
      if (!this.#answered || !isPassing(error)) throw error;
      const { what } = this.#options;
      if (this.#failed === 0)
        this.#context.warn(`${what} cannot be read now, and is looked at again: ${printable(asError(error).message)}`);
      this.#failed += 1;
      return null;
    }
  }

  /** Waits until the next look, not much longer than `restMs`. False: interrupted. */
  pause(restMs = Infinity): Promise<boolean> {
    const { everyMs } = this.#options;
    const wait = Math.min(everyMs * 2 ** this.#failed, longestPauseMs, Math.max(everyMs, restMs));
    return sleep(this.#context.clock, wait, this.#context.signal);
  }
}
