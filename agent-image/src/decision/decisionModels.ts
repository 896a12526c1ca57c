import {
  scoreBounds,
  type Candidate,
  type Edit,
  type FocusFile,
  type ControlStep,
  type Features,
  type ScoreItem,
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
import { askControl, type Steering } from './control.ts';
import { featuresBefore, headOf, Fleet, type FleetOptions } from './fleet.ts';
import { Likelihoods } from './prior.ts';
import { ordered } from './opinion.ts';
import { askOpinion } from './askOpinion.ts';
import { Relevance } from './relevance.ts';
import { schedule } from './schedule.ts';
import { askScores } from './scores.ts';
import type { ComputeBrief, PoolBrief } from '@agentfleet/protocol/pool';

const around = 2;

/**
 * What a candidate changes, as a diff without headers: `-` before lines that go, `+` before lines that come, a blank before
 * the two lines on each side; then one line `$ command` for each act.
 */
function changedText({ edits, acts = [] }: Candidate, files: readonly FocusFile[]): string {
  const contents = new Map(files.map(({ path, content }) => [path, content]));
  const parts = edits.map((edit) => hunk(edit, contents.get(edit.path)));
  return [...parts, ...acts.map(({ command }) => `$ ${command}`)].join('\n').slice(0, scoreBounds.maxTextChars);
}

/** One edit as whole lines; the bare texts where the file is not known. */
function hunk({ range: { startByte, endByte }, before, after }: Edit, content: string | undefined): string {
  if (content === undefined) return marked(before, after);
  const bytes = Buffer.from(content, 'utf8');
  const head = bytes.toString('utf8', 0, startByte);
  const rest = bytes.toString('utf8', endByte);
  const from = head.lastIndexOf('\n') + 1;
  const to = rest.indexOf('\n');
  const left = head.slice(from);
  const right = to === -1 ? rest : rest.slice(0, to);
  const above = head.slice(0, from).split('\n').slice(0, -1).slice(-around);
  const below =
    to === -1
      ? []
      : rest
          .slice(to + 1)
          .split('\n')
          .slice(0, around);
  const plain = (lines: readonly string[]): string[] => lines.map((line) => ` ${line}`);
  return [...plain(above), marked(left + before + right, left + after + right), ...plain(below)].join('\n');
}

function marked(before: string, after: string): string {
  const lines = (mark: string, text: string): string[] => (text === '' ? [] : text.split('\n').map((line) => `${mark}${line}`));
  return [...lines('-', before), ...lines('+', after)].join('\n');
}

/** The learned parts of a pool, for one attempt. */
export class PoolDecisionModels implements DecisionModels {
  readonly compute: DecisionModels['compute'];
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

  async score(ranked: Ranked, executed: Features): ReturnType<DecisionModels['score']> {
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

  get participants(): DecisionModels['participants'] {
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

/** The compute settings of a task: its profile's, else those of `default`. Acceptance refuses unknown names. */
export function computeOf({ profiles }: Pick<PoolBrief, 'profiles'>, profile: string): ComputeBrief {
  const found = profiles[profile] ?? profiles['default'];
  if (found === undefined) throw new Error(`the brief has no profile ${profile} and none called default; the operator writes both`);
  return found;
}
