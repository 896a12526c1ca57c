import { priorBounds, type Candidate } from '@agentfleet/protocol/inference';
import type { RankingContext } from '../attempt/mind.ts';
import type { Fleet } from './fleet.ts';
import { priorBudget } from './prior.ts';

/** Time beside the budget: the way there and back, and the queue; ms. */
const marginMillis = 2000;
/** Weight of the newest price. */
const newest = 0.3;

/** How likely a language model finds candidates; asked only when the better order is worth the time. */
export class Likelihoods {
  readonly #fleet: Fleet;
  #millisPerCandidate: number | null = null;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** Gains in nats by id, for those that were measured. */
  async of(candidates: readonly Candidate[], { files, trialSeconds }: RankingContext): Promise<ReadonlyMap<string, number>> {
    const { draft } = this.#fleet;
    const edited = candidates.filter(({ edits }) => edits.length > 0).slice(0, priorBounds.maxCandidates);
    const shares = edited.map(({ score }) => score);
    const budget = priorBudget({ shares, trialSeconds, millisPerCandidate: this.#millisPerCandidate });
    if (draft === undefined || budget === 0) return new Map();
    const paths = new Set(edited.flatMap(({ edits }) => edits.map(({ path }) => path)));
    const budgetMillis = Math.min(budget, priorBounds.maxBudgetMillis);
    const request = {
      requestId: this.#fleet.requestId,
      files: files.filter(({ path }) => paths.has(path)).slice(0, priorBounds.maxFiles),
      candidates: edited.map(({ id, edits }) => ({ id, edits: [...edits] })),
      windowTokens: priorBounds.defaultWindowTokens,
      budgetMillis,
    };
    if (request.files.length === 0) return new Map();
    const manner = { timeoutMillis: budgetMillis + marginMillis, without: 'no likelihoods' };
    const answer = await this.#fleet.ask(draft, 'Prior', request, manner);
    if (typeof answer === 'string') return new Map();
    const measured = answer.scores.flatMap(({ id, gainNats }) => (gainNats === null ? [] : [[id, gainNats] as const]));
    this.#learn(answer.millis / Math.max(1, measured.length));
    return new Map(measured);
  }

  #learn(millis: number): void {
    this.#millisPerCandidate = this.#millisPerCandidate === null ? millis : newest * millis + (1 - newest) * this.#millisPerCandidate;
  }
}
