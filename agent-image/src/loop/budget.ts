import { costInMicros, fromMicros, toMicros, type Reason } from '@agentfleet/protocol/api';
import type { TokenUsage } from '@agentfleet/protocol/chat';
import type { Price } from '@agentfleet/protocol/gateway';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../base/failure.ts';
import { boundsOf, type Bounds } from '../attempt/meter.ts';
import type { Scope } from '../attempt/scope.ts';
import type { ChatExpert } from './conversation.ts';
import type { Charge } from './notes.ts';

/** Bounds of a task over all its attempts; absent: none. */
export type TokenBounds = Pick<Bounds, 'tokens' | 'cost'>;

type PricesByName = ReadonlyMap<string, Price | undefined>;

interface Priced {
  readonly expert: string;
  readonly price?: Price | undefined;
  readonly fallbacks?: PricesByName;
}

/** Amounts that are spent already, by earlier attempts or by the requests in the transcript of this one. */
export interface Spent {
  readonly tokens: number;
  readonly costMicros: number;
}

/** The worst case of one request. */
export interface Asked {
  readonly promptTokens: number;
  readonly maxOutputTokens: number;
  /** Proposals; a provider that ignores `n` is asked as often, with the prompt each time. */
  readonly n: number;
}

/** A request that fits. Write `charge` down before it is sent, and settle it with the reply's usage. */
export interface Reservation {
  readonly charge: Charge;
  /** May be lower than what was asked for. */
  readonly maxOutputTokens: number;
}

const leastOutput = 512;
const noticeShare = 0.8;

/** Counts tokens and money of one task before they are spent. Holds no clock and no I/O. */
export class TokenBudget {
  readonly #bounds: { readonly tokens: number; readonly costMicros: number };
  readonly #cost: string | undefined;
  readonly #price: Price | undefined;
  readonly #fallbacks: PricesByName;
  readonly #earlier: Spent;
  readonly #charges: Charge[];
  #reserved: Charge | null = null;

  /**
   * @param engine the expert that is asked, and those that the gateway asks in its place
   * @param earlier what earlier attempts of the task used
   * @param charges what this attempt spent under another worker, as `Transcript.charges` has it: a request whose reply was not
   *   seen counts as its reservation, marked as estimated
   * @throws AttemptFailure InvalidInput PriceMissing: cost is bounded, and what a request costs is not known
   */
  constructor(bounds: TokenBounds, engine: Priced, earlier: Spent, charges: readonly Charge[] = []) {
    const { expert, price, fallbacks = new Map<string, Price | undefined>() } = engine;
    const unpriced = [...new Map([[expert, price], ...fallbacks])].find(([, one]) => one === undefined);
    if (bounds.cost !== undefined && unpriced !== undefined) throw priceMissing(unpriced[0]);
    this.#bounds = { tokens: bounds.tokens ?? Infinity, costMicros: bounds.cost === undefined ? Infinity : Number(toMicros(bounds.cost)) };
    this.#cost = bounds.cost;
    this.#price = price;
    this.#fallbacks = fallbacks;
    this.#earlier = earlier;
    this.#charges = [...charges];
  }

  /**
   * Reserves the worst case of a request, with a shorter answer where only that fits.
   *
   * @throws AttemptFailure BudgetExceeded TokensExceeded or CostExceeded, naming what is used, the bound and its field
   */
  reserve({ promptTokens, maxOutputTokens, n }: Asked): Reservation {
    const of = (output: number): Charge => this.#dearest({ input: promptTokens * n, cachedInput: 0, output: output * n, estimated: true });
    const least = Math.min(leastOutput, maxOutputTokens);
    this.#assertFits(of(least));
    const output = largest(least, maxOutputTokens, (tokens) => this.#excess(of(tokens)) === null);
    this.#reserved = of(output);
    return { charge: this.#reserved, maxOutputTokens: output };
  }

  /**
   * Settles the charge of a reply and returns it. A reply without usage is charged as reserved.
   *
   * @param by the fallback that answered, whose price counts then
   */
  settle({ charge }: Pick<Reservation, 'charge'>, usage: TokenUsage | null, by?: string): Charge {
    const price = by !== undefined && this.#fallbacks.has(by) ? this.#fallbacks.get(by) : this.#price;
    const settled = usage === null ? charge : chargeOf(usage, price);
    this.#reserved = null;
    this.#charges.push(settled);
    return settled;
  }

  /** Returns the usage of the task, with what is reserved. */
  spent(): Spent {
    const all = this.#reserved === null ? this.#charges : [...this.#charges, this.#reserved];
    return all.reduce((sum, charge) => plus(sum, charge), this.#earlier);
  }

  /** Returns the notice for the model once 80 % of a bound are used; null before that, or without a bound. */
  notice(): string | null {
    const { tokens, costMicros } = this.spent();
    const used: string[] = [];
    if (tokens >= this.#bounds.tokens * noticeShare) used.push(`${tokens} of ${this.#bounds.tokens} tokens`);
    if (costMicros >= this.#bounds.costMicros * noticeShare) used.push(`${moneyOf(costMicros)} of ${this.#cost ?? ''} in money`);
    if (used.length === 0) return null;
    return `Notice: ${used.join(' and ')} of the task's budget are used. At the bound the task ends. Finish what is closest to the goal, run the checks, and submit.`;
  }

  left(): readonly string[] {
    const { tokens, costMicros } = this.spent();
    const lines: string[] = [];
    if (Number.isFinite(this.#bounds.tokens)) lines.push(`${Math.max(0, this.#bounds.tokens - tokens)} tokens`);
    if (Number.isFinite(this.#bounds.costMicros)) lines.push(`${moneyOf(Math.max(0, this.#bounds.costMicros - costMicros))} in money`);
    return lines;
  }

  #dearest(usage: TokenUsage): Charge {
    const charges = [this.#price, ...this.#fallbacks.values()].map((price) => chargeOf(usage, price));
    return charges.reduce((most, one) => ((one.costMicros ?? -1) > (most.costMicros ?? -1) ? one : most));
  }

  /** Returns the bound that a charge would exceed; null: none. */
  #excess(charge: Charge): 'tokens' | 'cost' | null {
    const { tokens, costMicros } = plus(this.#charges.reduce(plus, this.#earlier), charge);
    if (tokens > this.#bounds.tokens) return 'tokens';
    return costMicros > this.#bounds.costMicros ? 'cost' : null;
  }

  #assertFits(charge: Charge): void {
    const excess = this.#excess(charge);
    if (excess === null) return;
    const used = this.#charges.reduce(plus, this.#earlier);
    const needs = plus({ tokens: 0, costMicros: 0 }, charge);
    const [reason, text, bound]: readonly [Reason, string, string] =
      excess === 'tokens'
        ? ['TokensExceeded', `${used.tokens} tokens`, `${this.#bounds.tokens}`]
        : ['CostExceeded', `${moneyOf(used.costMicros)} in money`, this.#cost ?? ''];
    const next = excess === 'tokens' ? `${needs.tokens}` : moneyOf(needs.costMicros);
    throw new AttemptFailure(
      'BudgetExceeded',
      reason,
      `the task has used ${text} of ${bound}, and the next request may need ${next} (spec.budget.${excess}, or the pool's maxBudget); raise it, or shorten the goal`,
    );
  }
}

function chargeOf(usage: TokenUsage, price: Price | undefined): Charge {
  return { usage, costMicros: price === undefined ? null : costInMicros(price, usage) };
}

function moneyOf(costMicros: number): string {
  return fromMicros(BigInt(costMicros));
}

function plus({ tokens, costMicros }: Spent, { usage, costMicros: cost }: Charge): Spent {
  return { tokens: tokens + usage.input + usage.output, costMicros: costMicros + (cost ?? 0) };
}

/** The largest whole number from `least` on, which holds, up to `most` that holds. */
function largest(least: number, most: number, holds: (value: number) => boolean): number {
  let [low, high] = [least, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function priceMissing(expert: string): AttemptFailure {
  return new AttemptFailure(
    'InvalidInput',
    'PriceMissing',
    `spec.budget.cost bounds the task, and expert ${expert} of the pool has no price: set price (input, cachedInput, output per million tokens) in its engine, or bound spec.budget.tokens instead in a new task`,
  );
}

/** The bounds of the task, or else of the pool, over what all attempts spend. */
export function budgetOf({ context }: Pick<Scope, 'context'>, { name, chat }: ChatExpert, charges: readonly Charge[]): TokenBudget {
  const { pool, used } = context;
  const { tokensIn, tokensOut, cost = '0' } = used.earlier;
  const earlier = { tokens: tokensIn + tokensOut, costMicros: Number(toMicros(cost)) };
  const fallbacks = fallbacksOf(pool, { name, chat });
  return new TokenBudget(boundsOf(context), { expert: name, price: chat.price, fallbacks }, earlier, charges);
}

/** The experts that the gateway asks one after the other when one does not answer. */
function fallbacksOf({ experts }: Pick<PoolBrief, 'experts'>, { name, chat }: Pick<ChatExpert, 'name' | 'chat'>): PricesByName {
  const found = new Map<string, Price | undefined>();
  for (let next = chat.fallback; next !== undefined && next !== name && !found.has(next);) {
    const other = experts.find((expert) => expert.name === next)?.chat;
    found.set(next, other?.price);
    next = other?.fallback;
  }
  return found;
}
