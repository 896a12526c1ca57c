import type { ControlledInput, Model, Sequence, Token } from './library.ts';

/** What a language model says about tokens; one caller at a time. */
export interface Likelihood {
  tokenize(text: string): readonly Token[];
  /**
   * ln p of each of `tokens[from … from + count − 1]`, given all before it; nats. `from` is at least 1.
   * Neighbouring calls that share a prefix share its evaluation.
   */
  logProbs(tokens: readonly Token[], from: number, count: number): Promise<readonly number[]>;
  /** Forgets what is evaluated, so that answers do not depend on what was asked before. */
  reset(): Promise<void>;
  /** Tokens evaluated since the model was loaded. */
  readonly evaluated: number;
}

/** A sequence of llama.cpp that remembers what it holds. */
export class SequenceLikelihood implements Likelihood {
  readonly #model: Model;
  readonly #sequence: Sequence;
  #held: Token[] = [];
  #evaluated = 0;

  constructor(model: Model, sequence: Sequence) {
    this.#model = model;
    this.#sequence = sequence;
  }

  get evaluated(): number {
    return this.#evaluated;
  }

  /** Texts hold no special tokens, whatever is written in them. */
  tokenize(text: string): readonly Token[] {
    return this.#model.tokenize(text);
  }

  async logProbs(tokens: readonly Token[], from: number, count: number): Promise<readonly number[]> {
    if (from < 1 || from + count > tokens.length) throw new RangeError(`tokens ${from}…${from + count} of ${tokens.length}`);
    if (count === 0) return [];
    // The token before the first one is evaluated again: its logits are not kept.
    await this.hold(tokens.slice(0, from - 1));
    const fed = tokens.slice(from - 1, from + count - 1);
    const wanted = tokens.slice(from, from + count);
    const outputs = await this.#sequence.controlledEvaluate(fed.map((token, at) => asking(token, wanted[at] ?? 0)));
    this.#held.push(...fed);
    this.#evaluated += fed.length;
    return wanted.map((token, at) => logProb(outputs[at]?.next, token));
  }

  /** Makes the sequence hold exactly these tokens; a common prefix stays. */
  async hold(tokens: readonly Token[]): Promise<void> {
    let common = 0;
    while (common < tokens.length && common < this.#held.length && tokens[common] === this.#held[common]) common += 1;
    if (common < this.#sequence.nextTokenIndex) {
      await this.#sequence.eraseContextTokenRanges([{ start: common, end: this.#sequence.nextTokenIndex }]);
    }
    this.#held = tokens.slice(0, common);
    const missing = tokens.slice(common);
    if (missing.length === 0) return;
    await this.#sequence.evaluateWithoutGeneratingNewTokens(missing);
    this.#held.push(...missing);
    this.#evaluated += missing.length;
  }

  /** Forgets all that was evaluated past it by others. */
  async resync(): Promise<void> {
    const end = this.#sequence.nextTokenIndex;
    if (end > this.#held.length) await this.#sequence.eraseContextTokenRanges([{ start: this.#held.length, end }]);
  }

  reset(): Promise<void> {
    return this.hold([]);
  }
}

function asking(token: Token, next: Token): ControlledInput {
  return [token, { generateNext: { logits: { filter: { tokens: [next], includeSelected: true } }, totalLogitWeight: true } }];
}

/** Without sampling the selected token is the greatest, which is why it has to be among the logits. */
function logProb(next: { logits?: ReadonlyMap<Token, number>; totalLogitWeight?: number } | undefined, token: Token): number {
  const own = next?.logits?.get(token);
  if (own === undefined || next?.logits === undefined || next.totalLogitWeight === undefined) {
    throw new Error('llama.cpp told no logits of a token that they were asked of');
  }
  return own - Math.max(...next.logits.values()) - Math.log(next.totalLogitWeight);
}
