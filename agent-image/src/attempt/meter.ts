import type { Clock } from '@agentfleet/kube';
import type { Usage } from '@agentfleet/protocol/api';
import { AttemptFailure } from './failure.ts';

/** What may be used over all attempts; absent: no bound. */
export interface Bounds {
  readonly wallSeconds?: number | undefined;
  readonly toolCalls?: number | undefined;
}

export const nothingUsed: Usage = {
  tokensIn: 0,
  tokensOut: 0,
  toolCalls: 0,
  cpuMillis: 0,
  wallSeconds: 0,
  candidates: 0,
  vetoes: 0,
  backtracks: 0,
};

type Counted = 'toolCalls' | 'cpuMillis' | 'candidates' | 'vetoes' | 'backtracks';

/** Counts what one attempt uses and tells when the task's budget is spent. */
export class Meter {
  readonly #clock: Clock;
  #started: number;
  #pausedAt: number | null = null;
  readonly #earlier: Usage;
  readonly #before: Usage;
  readonly #bounds: Bounds;
  readonly #own: Record<Counted, number> = { toolCalls: 0, cpuMillis: 0, candidates: 0, vetoes: 0, backtracks: 0 };

  constructor(clock: Clock, used: { readonly earlier: Usage; readonly before: Usage }, bounds: Bounds) {
    this.#clock = clock;
    this.#started = clock.monotonic();
    this.#earlier = used.earlier;
    this.#before = used.before;
    this.#bounds = bounds;
  }

  /** Lets the wall clock stand still until what is returned is called. */
  pause(): () => void {
    this.#pausedAt ??= this.#clock.monotonic();
    return () => {
      if (this.#pausedAt === null) return;
      this.#started += this.#clock.monotonic() - this.#pausedAt;
      this.#pausedAt = null;
    };
  }

  add(counter: Counted, amount = 1): void {
    this.#own[counter] += amount;
  }

  /** What this attempt has used, by all workers that ran it. */
  usage(): Usage {
    const { toolCalls, cpuMillis, candidates, vetoes, backtracks } = this.#own;
    const before = this.#before;
    return {
      ...before,
      toolCalls: before.toolCalls + toolCalls,
      cpuMillis: before.cpuMillis + Math.round(cpuMillis),
      wallSeconds: before.wallSeconds + Math.round(((this.#pausedAt ?? this.#clock.monotonic()) - this.#started) / 1000),
      candidates: before.candidates + candidates,
      vetoes: before.vetoes + vetoes,
      backtracks: before.backtracks + backtracks,
    };
  }

  /** Called before each step. @throws AttemptFailure BudgetExceeded, naming the bound */
  check(): void {
    const usage = this.usage();
    this.#within('wallSeconds', this.#earlier.wallSeconds + usage.wallSeconds);
    this.#within('toolCalls', this.#earlier.toolCalls + usage.toolCalls);
  }

  /** Seconds of the budget that are left; Infinity without a bound. */
  secondsLeft(): number {
    const bound = this.#bounds.wallSeconds;
    return bound === undefined ? Number.POSITIVE_INFINITY : bound - this.#earlier.wallSeconds - this.usage().wallSeconds;
  }

  #within(name: 'wallSeconds' | 'toolCalls', used: number): void {
    const bound = this.#bounds[name];
    if (bound === undefined || used < bound) return;
    const reason = name === 'wallSeconds' ? 'WallSecondsExceeded' : 'ToolCallsExceeded';
    throw new AttemptFailure(
      'BudgetExceeded',
      reason,
      `the task has used ${used} of ${bound} ${name} (spec.budget.${name}, or the pool's)`,
    );
  }
}
