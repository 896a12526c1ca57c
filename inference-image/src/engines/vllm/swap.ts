import { InferenceError } from '../../failure.ts';
import { NoTurnError, type TurnstileClient } from '../../turnstile/index.ts';
import type { VllmControl } from './control.ts';
import type { Resident } from './residency.ts';

export interface SwapOptions {
  readonly control: Pick<VllmControl, 'isSleeping'>;
  readonly turns: Pick<TurnstileClient, 'use' | 'load' | 'close'>;
}

/** Who has to wait for a turn is asked to come again after so long: the place is kept for longer. */
const retryAfterSeconds = 1;
/** What a generation gets at least that waited for its turn, ms. Who asked waits longer than the budget by more than that. */
const leastMs = 10_000;

/** An engine that shares its GPU with others in turns. It never wakes or sleeps by our word: the turnstile tells it. */
export class Swap implements Resident {
  readonly #options: SwapOptions;
  /** Process of the engine that was proved. */
  #proved: string | null = null;

  constructor(options: SwapOptions) {
    this.#options = options;
  }

  async awake<T>(run: (budgetMs: number) => Promise<T>, signal: AbortSignal, budgetMs: number): Promise<T> {
    try {
      const use = (waitedMs: number): Promise<T> => run(Math.round(Math.max(budgetMs - waitedMs, Math.min(budgetMs, leastMs))));
      return await this.#options.turns.use(use, { signal, withinMs: budgetMs });
    } catch (error) {
      if (!(error instanceof NoTurnError)) throw error;
      throw new InferenceError('AF_ENGINE_UNAVAILABLE', `the language model: ${error.message}`, { cause: error, retryAfterSeconds });
    }
  }

  /** In a turn, after each start of its process; not again while it sleeps. */
  async prove(proof: () => Promise<void>, withinMs: number): Promise<void> {
    const { control, turns } = this.#options;
    const { signal } = new AbortController();
    if (turns.load !== null && turns.load === this.#proved && (await control.isSleeping(signal))) return;
    await turns.use(proof, { signal, withinMs });
    this.#proved = turns.load;
  }

  close(): Promise<void> {
    return this.#options.turns.close();
  }
}
