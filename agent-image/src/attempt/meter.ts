import type { Clock } from '@agentfleet/kube';
import { fromMicros, toMicros, type Usage } from '@agentfleet/protocol/api';
import type { TokenUsage } from '@agentfleet/protocol/chat';
import { AttemptFailure } from '../base/failure.ts';
import { ablationAnnotations, ablationNames, ablationRefusal, ablations } from '@agentfleet/protocol/pool';
import type { AttemptContext } from './ports.ts';

/** Bounds of the usage over all attempts; absent: no bound. */
export interface Bounds {
  readonly wallSeconds?: number | undefined;
  readonly toolCalls?: number | undefined;
  /** Read and written by models. */
  readonly tokens?: number | undefined;
  /** Decimal string in the currency of the prices. */
  readonly cost?: string | undefined;
}

/**
 * Returns the bounds of a task, where it has none those of its pool, and never more: the budget may be raised when the task has begun, and
 * the operator looks at it again only before the next attempt.
 */
export function boundsOf({ task: { spec }, pool: { maxBudget } }: Pick<AttemptContext, 'task' | 'pool'>): Bounds {
  const { budget } = spec;
  const least = (bound: Bounded): number | undefined => {
    const [own, most] = [budget[bound], maxBudget[bound]];
    return own === undefined || most === undefined ? (own ?? most) : Math.min(own, most);
  };
  const [own, most] = [budget.cost, maxBudget.cost];
  const isAbove = own !== undefined && most !== undefined && toMicros(own) > toMicros(most);
  return {
    wallSeconds: least('wallSeconds'),
    toolCalls: least('toolCalls'),
    tokens: least('tokens'),
    cost: isAbove ? most : (own ?? most),
  };
}

/** Tokens that requests to chat models used. */
export interface SpentTokens extends Omit<TokenUsage, 'estimated'> {
  /** Whole millionths of the currency; null: the model has no price. */
  readonly cost: number | null;
}

type Counted = 'toolCalls' | 'cpuMillis' | 'candidates' | 'vetoes' | 'backtracks';
type Bounded = 'wallSeconds' | 'toolCalls' | 'tokens';

/** Counts what one attempt uses, and fails when the task's budget is spent. */
export class Meter {
  readonly #clock: Clock;
  #started: number;
  #pausedAt: number | null = null;
  readonly #earlier: Usage;
  readonly #before: Usage;
  readonly #bounds: Bounds;
  readonly #own: Record<Counted, number> = { toolCalls: 0, cpuMillis: 0, candidates: 0, vetoes: 0, backtracks: 0 };
  /** Of this attempt, by all workers that ran it. */
  #tokens: SpentTokens;
  #notify: (() => void) | undefined;

  constructor(clock: Clock, used: { readonly earlier: Usage; readonly before: Usage }, bounds: Bounds) {
    this.#clock = clock;
    this.#started = clock.monotonic();
    this.#earlier = used.earlier;
    this.#before = used.before;
    this.#bounds = bounds;
    this.#tokens = tokensOf(used.before);
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
    if (counter !== 'toolCalls') return;
    this.#notify?.();
    this.#notify = undefined;
  }

  /** Calls back once, at the next call of a tool. */
  onNextCall(notify: () => void): void {
    this.#notify = notify;
  }

  /** Sets what this attempt has used by the event log, by all workers: a report may be older than the log. */
  setTokens(total: SpentTokens): void {
    this.#tokens = total;
  }

  /** Returns the usage of this attempt, by all workers that ran it. */
  usage(): Usage {
    const { toolCalls, cpuMillis, candidates, vetoes, backtracks } = this.#own;
    const before = this.#before;
    const { input, cachedInput, output, cost } = this.#tokens;
    return {
      ...before,
      tokensIn: input,
      tokensOut: output,
      ...(cachedInput > 0 && { tokensCached: cachedInput }),
      ...(cost !== null && { cost: fromMicros(BigInt(cost)) }),
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
    this.#within('tokens', this.#tokensUsed());
    const { cost } = this.#bounds;
    const paid = this.#costUsed();
    if (cost !== undefined && paid >= toMicros(cost)) throw exceeded('cost', fromMicros(paid), cost);
  }

  /** Seconds of the budget that are left; Infinity without a bound. */
  secondsLeft(): number {
    const bound = this.#bounds.wallSeconds;
    return bound === undefined ? Number.POSITIVE_INFINITY : bound - this.#earlier.wallSeconds - this.usage().wallSeconds;
  }

  /** Share of the bound on tokens or on cost that all attempts have used, the larger one, 0…1; 0 without such a bound. */
  modelShare(): number {
    const { tokens, cost } = this.#bounds;
    const ofTokens = tokens === undefined ? 0 : this.#tokensUsed() / Math.max(1, tokens);
    const ofCost = cost === undefined ? 0 : Number(this.#costUsed()) / Math.max(1, Number(toMicros(cost)));
    return Math.min(1, Math.max(ofTokens, ofCost));
  }

  #tokensUsed(): number {
    const { tokensIn, tokensOut } = this.#earlier;
    return tokensIn + tokensOut + this.#tokens.input + this.#tokens.output;
  }

  #costUsed(): bigint {
    return toMicros(this.#earlier.cost ?? '0') + BigInt(this.#tokens.cost ?? 0);
  }

  #within(name: Bounded, used: number): void {
    const bound = this.#bounds[name];
    if (bound !== undefined && used >= bound) throw exceeded(name, used, bound);
  }
}

const reasons = {
  wallSeconds: 'WallSecondsExceeded',
  toolCalls: 'ToolCallsExceeded',
  tokens: 'TokensExceeded',
  cost: 'CostExceeded',
} as const satisfies Record<keyof Bounds, string>;

/** The failure of a task that has no budget left, or none for what it would have to spend next. */
export function exceeded(name: keyof Bounds, used: number | string, bound: number | string): AttemptFailure {
  const message = `the task has used ${used} of ${bound} ${name} (spec.budget.${name}, or the pool's)`;
  return new AttemptFailure('BudgetExceeded', reasons[name], message);
}

/** Returns the part of a usage that models are paid for. */
export function tokensOf({ tokensIn, tokensCached = 0, tokensOut, cost }: Usage): SpentTokens {
  return { input: tokensIn, cachedInput: tokensCached, output: tokensOut, cost: cost === undefined ? null : Number(toMicros(cost)) };
}

type Experiment = Pick<AttemptContext, 'task' | 'pool'>;

const asked = ({ task }: Experiment): readonly string[] => ablationNames(task.metadata.annotations?.[ablationAnnotations.asked]);

/** An experiment that silently ran with the whole fleet would be compared with itself. @throws AttemptFailure InvalidInput */
export function refuseAblations(experiment: Experiment): void {
  const refusal = ablationRefusal(asked(experiment), experiment.pool);
  if (refusal !== null) throw new AttemptFailure('InvalidInput', 'AblationRefused', refusal);
}

/** Reports whether the search may go back to trees that it has left. */
export function mayBacktrack(experiment: Experiment): boolean {
  return asked(experiment).every((name) => ablations[name]?.backtracking !== false);
}
