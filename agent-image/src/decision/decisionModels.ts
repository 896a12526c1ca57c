import {
  changedText,
  type Candidate,
  type ControlStep,
  type Features,
  type ScoreItem,
  actFeatures,
  type PolicyVerdict,
  embedBounds,
  type FailingTest,
  controlBounds,
  featureSet,
  type EnergyScore,
  type ScoreResponse,
} from '@agentfleet/protocol/inference';
import type {
  ActInQuestion,
  Control,
  DecisionModels,
  Plan,
  Ranked,
  Ranking,
  RankingContext,
  SecondOpinion,
  Situation,
} from '../attempt/ports.ts';
import { featuresBefore, headOf, Fleet, type FleetOptions } from './fleet.ts';
import { Likelihoods, cosine } from './prior.ts';
import { ordered, abstention, decide, type PartOpinions, actId, pieceId, thresholdsOf, tooLong, worst, compareActs } from './opinion.ts';
import { piecesOf, textOf, type Piece } from './pieces.ts';
import { schedule, uniform } from './schedule.ts';
import type { ComputeBrief, PoolBrief, VerifierEndpoint } from '@agentfleet/protocol/pool';
import { decisions } from '../rails/index.ts';
import { proposers } from '../attempt/notes.ts';

/**
 * Requests energies by id, in batches of the verifier's size. Null without a verifier or an answer: energies of one
 * batch alone would rank the others last for no reason.
 */
async function askScores(fleet: Fleet, items: readonly ScoreItem[]): Promise<ReadonlyMap<string, EnergyScore> | null> {
  const scores = await scoresOrSilence(fleet, items);
  return scores === null || typeof scores === 'string' ? null : scores;
}

/** Like {@link askScores}, with the reason for the verifier's silence; null: the pool has none. */
async function scoresOrSilence(fleet: Fleet, items: readonly ScoreItem[]): Promise<ReadonlyMap<string, EnergyScore> | string | null> {
  const { verifier } = fleet;
  if (verifier === undefined) return null;
  const callOptions = {
    timeoutMillis: verifier.timeoutMillis,
    without: verifier.whenUnavailable === 'Degrade' ? 'the expert orders, the rules decide' : 'the expert orders, gate 2 is closed',
  };
  const scores = new Map<string, EnergyScore>();
  for (let at = 0; at < items.length; at += verifier.batchMax) {
    const request = { requestId: fleet.requestId, featureSet, items: items.slice(at, at + verifier.batchMax) };
    const compare = (answer: ScoreResponse, shadow: ScoreResponse, other: VerifierEndpoint): ReturnType<typeof compareActs> =>
      compareActs(request.items, { verifier, answer }, { verifier: other, answer: shadow }, fleet.options.now?.() ?? null);
    const answer = await fleet.ask(verifier, 'Score', { ...request, featureSet }, { ...callOptions, compare });
    if (typeof answer === 'string') return answer;
    const why = abstention(verifier.calibration, answer.calibration ?? null, fleet.options.now?.() ?? null);
    if (why !== null) fleet.tell(verifier, `${why}; it ranks and vetoes nothing`);
    for (const score of answer.scores) scores.set(score.id, why === null ? score : { ...score, pSuccess: null });
    fleet.learnReads(answer.reads);
    fleet.calibration = answer.calibration ?? null;
  }
  return scores;
}

/** Time for one answer of a planner, policy or embedder, ms. */
const partMillis = 2000;

/** Asks the planner; uniform without one, without an answer, and for one that runs in shadow, which is reported. */
async function askControl(fleet: Fleet, steps: readonly ControlStep[]): Promise<Control> {
  const experts = proposers(fleet.options.pool);
  const neutral = uniform(experts);
  const planner = fleet.member('Planner');
  if (planner === undefined || experts.length === 0) return neutral;
  const request = { requestId: fleet.requestId, experts: [...experts], steps: steps.slice(-controlBounds.maxSteps) };
  const callOptions = { timeoutMillis: partMillis, without: 'priors are uniform' };
  const answer = await fleet.ask(planner, 'Control', request, callOptions);
  if (typeof answer === 'string') return neutral;
  const { risk, deliberate, shadow } = answer;
  const weights = Object.fromEntries(answer.experts.map(({ name, p }) => [name, p]));
  if (shadow === null) return { experts: weights, risk, deliberate };
  fleet.tell(planner, `in shadow, priors are uniform: ${shadow}`);
  return neutral;
}

/** Vectors that are kept, the newest: of 512 numbers each, 8 MiB. */
const maxKept = 2048;

/** Similarity of a change's text to the failures, by an embedder. */
class Relevance {
  readonly #fleet: Fleet;
  /** By text, within an attempt: the failures stay the same over many rounds, and untried changes are proposed again. */
  readonly #vectors = new Map<string, readonly number[]>();

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** Cosines by id; empty without an embedder. One request, for the texts that are new. */
  async of(texts: ReadonlyMap<string, string>, failing: readonly FailingTest[]): Promise<ReadonlyMap<string, number>> {
    const spec = bounded(failing.map(({ id, message }) => `${id}\n${message}`).join('\n'));
    const asked = [...texts].filter(([, text]) => text !== '').slice(0, embedBounds.maxTexts - 1);
    if (this.#fleet.member('Embedder') === undefined || spec === '' || asked.length === 0) return new Map();
    const changes = asked.map(([id, text]) => [id, bounded(text)] as const);
    if (!(await this.#learn([spec, ...changes.map(([, text]) => text)]))) return new Map();
    const wanted = this.#vectors.get(spec) ?? [];
    const cosines = new Map(changes.map(([id, text]) => [id, cosine(wanted, this.#vectors.get(text) ?? [])]));
    this.#forget();
    return cosines;
  }

  /** Returns whether the vectors of all texts are known. */
  async #learn(texts: readonly string[]): Promise<boolean> {
    const unknown = [...new Set(texts)].filter((text) => !this.#vectors.has(text));
    const embedder = this.#fleet.member('Embedder');
    if (unknown.length === 0 || embedder === undefined) return unknown.length === 0;
    const request = { requestId: this.#fleet.requestId, texts: unknown };
    const answer = await this.#fleet.ask(embedder, 'Embed', request, { timeoutMillis: partMillis, without: 'no specCosine' });
    if (typeof answer === 'string') return false;
    for (const [at, text] of unknown.entries()) this.#vectors.set(text, answer.vectors[at] ?? []);
    return true;
  }

  #forget(): void {
    for (const text of this.#vectors.keys()) {
      if (this.#vectors.size <= maxKept) return;
      this.#vectors.delete(text);
    }
  }
}

const bounded = (text: string): string => text.slice(0, embedBounds.maxTextChars);

/**
 * Asks Policy and Verifier about an act, and decides together with the planner's newest word. A long act is judged in
 * pieces, so that nothing escapes a bound; the worst one counts.
 */
async function askOpinion(fleet: Fleet, act: ActInQuestion, { risk }: Control): Promise<SecondOpinion> {
  const { verifier } = fleet.options.pool;
  const judging = verifier !== null || fleet.member('Policy') !== undefined;
  const pieces = judging ? piecesOf(act) : [act];
  if (pieces === null) return tooLong(act);
  const policies = await askPolicy(fleet, act, pieces);
  const verifiers = await askVerifier(fleet, act, pieces, policies);
  const common = { risk, whenUnavailable: verifier?.whenUnavailable ?? 'FailClosed', ...thresholdsOf(verifier, act.head) };
  const opinions = pieces.map((_, at) => decide({ ...common, policy: policies[at] ?? null, verifier: verifiers[at] ?? null }, act.rails));
  return worst(opinions);
}

/** Pieces that Policy is asked about at a time, so that each question is answered within its time. */
const judgedTogether = 8;

async function askPolicy(
  fleet: Fleet,
  { tool, rails }: ActInQuestion,
  pieces: readonly Piece[],
): Promise<readonly PartOpinions['policy'][]> {
  const policy = fleet.member('Policy');
  if (policy === undefined) return [];
  const found = rails.findings.slice(0, 64).map((rail) => rail.slice(0, 64));
  const acts = pieces.map(({ subject, content }, at) => ({
    id: `${actId}${at}`,
    tool,
    subject,
    rails: found,
    ...(content !== undefined && { content }),
  }));
  const callOptions = { timeoutMillis: partMillis, without: 'gate 2 goes by its table' };
  const verdicts: PolicyVerdict[] = [];
  for (let at = 0; at < acts.length; at += judgedTogether) {
    const request = { requestId: fleet.requestId, acts: acts.slice(at, at + judgedTogether) };
    const answer = await fleet.ask(policy, 'Judge', request, callOptions);
    if (typeof answer === 'string') return pieces.map(() => ({ silent: answer }));
    verdicts.push(...answer.verdicts);
  }
  return pieces.map((_, at) => verdicts[at] ?? { silent: 'no verdict' });
}

async function askVerifier(
  fleet: Fleet,
  act: ActInQuestion,
  pieces: readonly Piece[],
  policies: readonly PartOpinions['policy'][],
): Promise<readonly PartOpinions['verifier'][]> {
  const items = pieces.map((piece, at): ScoreItem => {
    const outcome = policies[at] ?? null;
    const features = {
      ...act.features,
      ...actFeatures(piece),
      railRank: decisions.indexOf(act.rails.decision),
      ...(outcome !== null && 'unsafe' in outcome && { policyUnsafe: outcome.unsafe }),
    };
    return { id: pieceId(at), head: act.head, text: textOf(piece), operator: act.operator.slice(0, 128), features };
  });
  const scores = await scoresOrSilence(fleet, items);
  if (scores === null) return [];
  return items.map(({ id }) => (typeof scores === 'string' ? { silent: scores } : vote(fleet, act, scores.get(id))));
}

/** Returns a score, or why it does not count. */
function vote(fleet: Fleet, { head }: ActInQuestion, score: EnergyScore | undefined): PartOpinions['verifier'] {
  if (score === undefined) return { silent: 'no score' };
  const { verifier } = fleet;
  const why = abstention(verifier?.calibration, fleet.calibration, fleet.options.now?.() ?? null);
  // An abstention is no answer: whenUnavailable decides.
  if (why !== null) return { silent: why };
  if (score.pSuccess === null && verifier?.calibration !== undefined) return { silent: `its head ${head} is not calibrated` };
  if (score.pSuccess === null && verifier !== undefined) fleet.tell(verifier, 'not calibrated; it ranks and vetoes nothing');
  return score;
}

/** The learned parts of a pool, for one attempt. */
export class PoolDecisionModels implements DecisionModels {
  readonly compute: DecisionModels['compute'];
  readonly #fleet: Fleet;
  readonly #likelihoods: Likelihoods;
  readonly #relevance: Relevance;
  /** Texts of the candidates that were ranked last. */
  #texts: ReadonlyMap<string, string> = new Map();
  #control: Control | undefined;

  constructor(options: FleetOptions) {
    this.compute = options.compute;
    this.#fleet = new Fleet(options);
    this.#likelihoods = new Likelihoods(this.#fleet);
    this.#relevance = new Relevance(this.#fleet);
  }

  async control(steps: readonly ControlStep[]): Promise<Control> {
    return (this.#control = await askControl(this.#fleet, steps));
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
    const readsSources = this.#fleet.reads('apiMismatch') || this.#fleet.reads('brokenNodes');
    const measured = scored && readsSources ? await context.measure?.(candidates) : undefined;
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
    const items = known.map((one) => this.#item(one, one.features));
    const scores = await askScores(this.#fleet, items);
    const judged = known.map((one) => {
      const { energy, pSuccess } = scores?.get(one.candidate.id) ?? one;
      return { ...one, energy, pSuccess };
    });
    return ordered(judged, !this.#fleet.reads('likelihoodGain'));
  }

  async score(ranked: Ranked, executed: Features): ReturnType<DecisionModels['score']> {
    const scores = await askScores(this.#fleet, [this.#item(ranked, { ...ranked.features, ...executed })]);
    const score = scores?.get(ranked.candidate.id);
    return score === undefined ? null : { energy: score.energy, pSuccess: score.pSuccess };
  }

  async secondOpinion(act: ActInQuestion): Promise<SecondOpinion> {
    this.#control ??= await askControl(this.#fleet, []);
    return askOpinion(this.#fleet, act, this.#control);
  }

  reads(feature: keyof Features): boolean {
    return this.#fleet.verifier !== undefined && this.#fleet.reads(feature);
  }

  get degraded(): readonly string[] {
    return this.#fleet.degraded.slice(0, 8);
  }

  get participants(): DecisionModels['participants'] {
    return this.#fleet.participants;
  }

  #item({ candidate }: Ranked, features: Features): ScoreItem {
    const { id, operator } = candidate;
    const text = this.#texts.get(id) ?? changedText(candidate, []);
    return { id, head: headOf(candidate), text, operator: operator.slice(0, 128), features };
  }
}

/** Returns the compute settings of a task: its profile's, else those of `default`. Acceptance refuses unknown names. */
export function computeOf({ profiles }: Pick<PoolBrief, 'profiles'>, profile: string): ComputeBrief {
  const found = profiles[profile] ?? profiles['default'];
  if (found === undefined) throw new Error(`the brief has no profile ${profile} and none called default; the operator writes both`);
  return found;
}
