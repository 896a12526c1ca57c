import type { Candidate, ControlStep, Features, ScoreItem } from '@agentfleet/protocol/inference';
import type { ActInQuestion, Control, Mind, Plan, Ranked, Ranking, RankingContext, SecondOpinion, Situation } from '../attempt/mind.ts';
import { askControl, type Steering } from './control.ts';
import { featuresBefore, headOf } from './features.ts';
import { Fleet, type FleetOptions } from './fleet.ts';
import { Likelihoods } from './likelihoods.ts';
import { ordered } from './order.ts';
import { askOpinion } from './askOpinion.ts';
import { Relevance } from './relevance.ts';
import { schedule } from './schedule.ts';
import { askScores } from './scores.ts';
import { changedText } from './text.ts';

/** The learned parts of a pool, for one attempt. */
export class FleetMind implements Mind {
  readonly compute: Mind['compute'];
  readonly #fleet: Fleet;
  readonly #likelihoods: Likelihoods;
  readonly #relevance: Relevance;
  /** Texts of the candidates that were ranked last. */
  #texts: ReadonlyMap<string, string> = new Map();
  #steering: Steering | undefined;

  constructor(options: FleetOptions) {
    this.compute = options.compute;
    this.#fleet = new Fleet(options);
    this.#likelihoods = new Likelihoods(this.#fleet);
    this.#relevance = new Relevance(this.#fleet);
  }

  async control(steps: readonly ControlStep[]): Promise<Control> {
    this.#steering = await askControl(this.#fleet, steps);
    return this.#steering.control;
  }

  plan(situation: Situation): Plan {
    return schedule(situation, this.compute);
  }

  async rank(candidates: readonly Candidate[], context: RankingContext): Promise<Ranking> {
    const texts = new Map(candidates.map((candidate) => [candidate.id, changedText(candidate, context.files)]));
    this.#texts = texts;
    const gains = await this.#likelihoods.of(candidates, context);
    const scored = this.#fleet.verifier !== undefined && candidates.length > 0;
    const cosines =
      scored && this.#fleet.reads('specCosine') ? await this.#relevance.of(texts, context.failing) : new Map<string, number>();
    const measured = scored && this.#readsSources ? await context.measure?.(candidates) : undefined;
    const known = candidates.map((candidate): Ranked => {
      const gain = gains.get(candidate.id);
      const cosine = cosines.get(candidate.id);
      const features: Features = {
        ...featuresBefore(candidate, context),
        ...(gain !== undefined && { likelihoodGain: gain }),
        ...(cosine !== undefined && { specCosine: cosine }),
        ...measured?.get(candidate.id),
      };
      return { candidate, energy: null, pSuccess: null, features };
    });
    if (!scored) return ordered(known, true);
    const scores = await askScores(
      this.#fleet,
      known.map((one) => this.#item(one, one.features)),
    );
    return ordered(
      known.map((one) => {
        const score = scores?.get(one.candidate.id);
        return score === undefined ? one : { ...one, energy: score.energy, pSuccess: score.pSuccess };
      }),
      !this.#fleet.reads('likelihoodGain'),
    );
  }

  async score(ranked: Ranked, executed: Features): ReturnType<Mind['score']> {
    const scores = await askScores(this.#fleet, [this.#item(ranked, { ...ranked.features, ...executed })]);
    const score = scores?.get(ranked.candidate.id);
    return score === undefined ? null : { energy: score.energy, pSuccess: score.pSuccess };
  }

  async secondOpinion(act: ActInQuestion): Promise<SecondOpinion> {
    this.#steering ??= await askControl(this.#fleet, []);
    return askOpinion(this.#fleet, act, this.#steering);
  }

  reads(feature: keyof Features): boolean {
    return this.#fleet.verifier !== undefined && this.#fleet.reads(feature);
  }

  get #readsSources(): boolean {
    return this.#fleet.reads('apiMismatch') || this.#fleet.reads('brokenNodes');
  }

  get degraded(): readonly string[] {
    return this.#fleet.degraded.slice(0, 8);
  }

  get participants(): Mind['participants'] {
    return this.#fleet.participants;
  }

  #item({ candidate }: Ranked, features: Features): ScoreItem {
    const { id, operator } = candidate;
    return {
      id,
      head: headOf(candidate),
      text: this.#texts.get(id) ?? changedText(candidate, []),
      operator: operator.slice(0, 128),
      features,
    };
  }
}
