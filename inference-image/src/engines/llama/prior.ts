import type { PriorRequest, PriorResponse, PriorScore } from '@agentfleet/protocol/inference';
import type { Token } from './library.ts';
import type { Likelihood } from './likelihood.ts';
import { Places, type PlacedEdit } from './place.ts';
import { textPair } from './window.ts';

export type Priors = Omit<PriorResponse, 'requestId' | 'modelDigest'>;

/** When to stop, and what tells the time. */
export interface Limits {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** Candidates that are put in the order of their places, so that one prefix serves its neighbours. */
const group = 16;

/**
 * How much likelier each candidate makes its text: ln p over `windowTokens` tokens from the first one that differs,
 * after minus before. Edits of one candidate are measured one by one and added. The first candidates come first, in
 * groups; those that the budget cuts off have no figure. Equal requests get equal figures.
 */
export async function prior(request: PriorRequest, likelihood: Likelihood, { now, signal }: Limits): Promise<Priors> {
  const started = now();
  const tokensBefore = likelihood.evaluated;
  const places = new Places(request.files);
  const placed = request.candidates.map(({ edits }, at) =>
    edits.map((edit, which) => places.place(edit, `candidates[${at}].edits[${which}]`)),
  );
  await likelihood.reset();
  const gains = placed.map((): number | null => null);
  const meter = new Meter(likelihood, request.windowTokens);
  for (const at of inGroups(placed)) {
    signal.throwIfAborted();
    if (now() - started >= request.budgetMillis) break;
    gains[at] = await meter.gain(placed[at] ?? []);
  }
  return {
    scores: request.candidates.map(({ id }, at): PriorScore => ({ id, gainNats: gains[at] ?? null })),
    truncated: gains.includes(null),
    tokens: likelihood.evaluated - tokensBefore,
    millis: Math.round(now() - started),
  };
}

/** Indices: group by group as given; inside a group by file and place. */
function inGroups(placed: readonly (readonly PlacedEdit[])[]): readonly number[] {
  const order: number[] = [];
  for (let at = 0; at < placed.length; at += group) {
    const members = placed.slice(at, at + group).map((_, offset) => at + offset);
    order.push(...members.sort((a, b) => compare(placed[a]?.[0], placed[b]?.[0]) || a - b));
  }
  return order;
}

function compare(a: PlacedEdit | undefined, b: PlacedEdit | undefined): number {
  if (a === undefined || b === undefined) return 0;
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.start - b.start;
}

/** Measures edits; what the text says without them is measured once per place. */
class Meter {
  readonly #likelihood: Likelihood;
  readonly #window: number;
  readonly #base = new Map<string, readonly number[]>();

  constructor(likelihood: Likelihood, window: number) {
    this.#likelihood = likelihood;
    this.#window = window;
  }

  async gain(edits: readonly PlacedEdit[]): Promise<number> {
    let sum = 0;
    for (const edit of edits) sum += await this.#gainOf(edit);
    return sum;
  }

  async #gainOf(edit: PlacedEdit): Promise<number> {
    const texts = textPair(edit, this.#window);
    if (texts.before === texts.after) return 0;
    const [before, after] = [this.#likelihood.tokenize(texts.before), this.#likelihood.tokenize(texts.after)];
    const from = firstDifference(before, after);
    // Equal numbers of tokens: a text is not likelier for being shorter.
    const count = Math.min(this.#window, before.length - from, after.length - from);
    const base = await this.#baseOf(`${edit.path}:${texts.from}:${from}`, before, from, count);
    const changed = await this.#likelihood.logProbs(after, from, count);
    return total(changed) - total(base.slice(0, count));
  }

  async #baseOf(key: string, tokens: readonly Token[], from: number, count: number): Promise<readonly number[]> {
    const known = this.#base.get(key);
    if (known !== undefined && known.length >= count) return known;
    const measured = await this.#likelihood.logProbs(tokens, from, count);
    this.#base.set(key, measured);
    return measured;
  }
}

/** At least 1: the first token has nothing before it. */
function firstDifference(before: readonly Token[], after: readonly Token[]): number {
  let at = 1;
  while (at < before.length && at < after.length && before[at] === after[at]) at += 1;
  return at;
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
