import type { Clock } from '@agentfleet/kube';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../base/failure.ts';
import type { Features, GenerateResponse, Candidate, ControlStep } from '@agentfleet/protocol/inference';
import { wholeRun } from '../checks/index.ts';
import type { Proof, Baseline } from '../attempt/checkRun.ts';
import {
  type TrialResult,
  type TriedNote,
  type Noted,
  type StepFacts,
  type StepSignals,
  budgetUsed,
  controlStep,
  proposers,
} from '../attempt/notes.ts';
import { failingIn, type Focus } from './localise.ts';
import type { Control, Plan, Ranked, Ranking } from '../attempt/ports.ts';
import { SearchNode, stateAfter, type Start } from './node.ts';
import { propose } from './proposals.ts';
import type { Scope } from '../attempt/scope.ts';
import { beforeRun, type SourceFeatures } from '../features/index.ts';
import type { Trial } from './trial.ts';

/** Time for which an expert that gave no answer is only asked as the last one, ms. */
const awayMs = 300_000;

/** Experts that gave no answer lately, although they were asked with all patience. */
export class Absence {
  readonly #clock: Clock;
  readonly #away = new Map<string, { readonly since: number; readonly words: string }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Records why an expert gave no answer.
   *
   * @throws the error, where another expert would fail in the same way
   */
  add({ name, role }: ExpertEndpoint, error: unknown): void {
    if (!(error instanceof AttemptFailure) || error.failureClass !== 'Infrastructure') throw error;
    this.#away.set(name, { since: this.#clock.monotonic(), words: `${role} ${name}: ${error.reason}; another expert is asked` });
  }

  answered({ name }: ExpertEndpoint): void {
    this.#away.delete(name);
  }

  isAway(name: string): boolean {
    const known = this.#away.get(name);
    return known !== undefined && this.#clock.monotonic() - known.since < awayMs;
  }

  /** For `degraded`. */
  get words(): readonly string[] {
    return [...this.#away.values()].map(({ words }) => words);
  }
}

/**
 * Returns the measurements of a trial's runs, summed over its checks; none where none ran. `text` has features of the
 * text of an executed program: it counts where all files loaded and no run crashed.
 */
export function executedFeatures(proofs: readonly Proof[], result: TrialResult, text: Features = {}): Features {
  if (proofs.length === 0) return {};
  const measured = runFeatures(proofs, result);
  return measured.compileErrors === 0 && measured.crashed === 0 ? { ...measured, ...text } : measured;
}

function runFeatures(proofs: readonly Proof[], result: TrialResult): Features {
  const sum = (of: (proof: Proof) => number): number => proofs.reduce((total, proof) => total + of(proof), 0);
  return {
    testsTotal: sum(testsTotal),
    testsFailed: sum(testsFailed),
    testsFixed: sum(({ verdict }) => verdict.newlyPassing.length),
    testsBroken: sum(({ verdict }) => verdict.regressed.length + verdict.missing.length),
    testsSkipped: sum(({ verdict }) => verdict.newlySkipped.length),
    timedOut: sum(({ run }) => Number(run.end.timedOut)),
    crashed: sum(({ run }) => Number(run.end.interrupted !== undefined)) + Number(result === 'Crashed'),
    compileErrors: sum(({ run }) => run.results.tests.filter(({ kind, outcome }) => kind === 'Container' && outcome === 'Errored').length),
    seconds: sum(({ run }) => run.millis) / 1000,
  };
}

/** Tests that ran; a check that names none counts as one. */
function testsTotal({ run: { results } }: Pick<Proof, 'run'>): number {
  return Math.max(1, results.tests.filter(({ kind, id, outcome }) => kind !== 'Group' && id !== wholeRun && outcome !== 'Skipped').length);
}

function testsFailed({ run: { results, end } }: Pick<Proof, 'run'>): number {
  const failed = failingIn(results).length;
  return failed === 0 && end.exitCode !== 0 ? 1 : failed;
}

/** A margin needs two. */
const leastAsked = 2;
/** Weight of an expert with a zero weight from the planner: asked last, but asked. */
const leastWeight = 1e-6;
/** Weights of an expert that did not answer lately, and of one that did not just now. */
const awayWeight = 1e-9;
const lastWeight = 1e-12;
/** Trials that the usual wall time is taken from. */
const rememberedTrials = 31;

/** One round of proposals: their expert, the amount of computation, and the order of trials. */
export interface Round {
  readonly expert: ExpertEndpoint;
  readonly control: Control;
  readonly plan: Plan;
  readonly response: GenerateResponse;
  /** Step of the expert's record; a later round may have been requested since. */
  readonly step: number;
  readonly ranking: Ranking;
  /** Features of the candidates' texts, by their ids; none where no model reads them. */
  readonly texts: ReadonlyMap<string, SourceFeatures>;
  /** Candidates to try before the next round is requested, the best first. */
  readonly due: readonly Ranked[];
}

/** Plans rounds with the decision models, and keeps state of earlier ones. */
export class Rounds {
  readonly #scope: Scope;
  readonly #baseline: Baseline;
  readonly #experts: readonly string[];
  readonly #steps: ControlStep[];
  readonly #seconds: number[] = [];
  readonly #absence: Absence;

  constructor(scope: Scope, baseline: Baseline) {
    this.#scope = scope;
    this.#baseline = baseline;
    this.#absence = new Absence(scope.context.clock);
    this.#experts = proposers(scope.context.pool);
    this.#steps = scope.noted.tried.flatMap((note) => controlStep(note, this.#experts) ?? []);
  }

  /**
   * Returns the next round on the tree of a node; null when no expert has proposals left. The plan is made twice:
   * before the request, for the number of requested proposals; and with the entropy and margin of the answer, for the
   * number of compared ones. A deliberate round asks for pairs of edits too and tries all that it compares; another one
   * tries the best alone when it is far ahead.
   */
  async next(node: SearchNode, focus: Focus): Promise<Round | null> {
    const { decisionModels } = this.#scope.context;
    const control = await decisionModels.control(this.#steps);
    const { risk, deliberate } = control;
    const { entropyNats, margin } = node.spread ?? { entropyNats: null, margin: null };
    const before = decisionModels.plan({ entropyNats, margin, risk, deliberate });
    const answer = await this.#propose(node, focus, control, before);
    if (answer === null) return null;
    const { expert, response, step } = answer;
    node.spread = { entropyNats: response.entropyNats, margin: response.margin };
    const plan = decisionModels.plan({ ...node.spread, risk, deliberate });
    const open = response.candidates.filter(({ id }) => !node.tried.has(id)).slice(0, plan.k);
    const { files, localisation, suspicion } = focus;
    const trialSeconds = this.#seconds.toSorted((a, b) => a - b)[Math.floor(this.#seconds.length / 2)] ?? null;
    let texts: ReadonlyMap<string, SourceFeatures> = new Map();
    const measure = async (some: readonly Candidate[]): Promise<ReadonlyMap<string, Features>> => {
      texts = await this.#scope.sources.ofCandidates(some, files);
      return new Map([...texts].map(([id, known]) => [id, beforeRun(known)]));
    };
    const ranking = await decisionModels.rank(open, { files, failing: localisation.failingTests, suspicion, trialSeconds, measure });
    const ahead = !plan.deliberate && ranking.margin !== null && ranking.margin > decisionModels.compute.earlyExitMargin;
    return { expert, control, plan, response, step, ranking, texts, due: ahead ? ranking.ranked.slice(0, 1) : ranking.ranked };
  }

  /**
   * Asks the expert preferred by the planner and the domain; the next one when it has nothing new here, or does not
   * answer. A silent one is asked again only when the others have nothing left: its proposals are unknown then.
   *
   * @throws AttemptFailure Infrastructure when no expert answers that may have more
   */
  async #propose(node: SearchNode, focus: Focus, { experts: weights }: Control, { k, deliberate }: Plan) {
    const failed = new Map<string, unknown>();
    for (;;) {
      const left = Object.fromEntries(Object.entries(weights).map(([name, p]) => [name, this.#weight(node, name, p)]));
      for (const name of failed.keys()) left[name] = Math.min(left[name] ?? 0, lastWeight);
      const expert = this.#scope.context.experts.choose(focus.domain, left);
      if (node.spent.has(expert.name)) return null;
      if (failed.has(expert.name)) throw failed.get(expert.name);
      try {
        const response = await propose(this.#scope, node, focus, { expert, k: Math.max(leastAsked, k), pairs: deliberate });
        this.#absence.answered(expert);
        if (response?.candidates.some(({ id }) => !node.tried.has(id)) === true) return { expert, response, step: node.asked };
        node.spent.add(expert.name);
      } catch (error) {
        this.#scope.context.signal.throwIfAborted();
        this.#absence.add(expert, error);
        failed.set(expert.name, error);
      }
      node.maxEdits = 1;
    }
  }

  #weight(node: SearchNode, name: string, p: number): number {
    if (node.spent.has(name)) return 0;
    return this.#absence.isAway(name) ? awayWeight : Math.max(p, leastWeight);
  }

  /** Judges a trial: its energy by all that is known now, and the measurements for its note. */
  async judge(
    node: SearchNode,
    round: Round,
    ranked: Ranked,
    trial: Trial,
    wallSeconds: number,
  ): Promise<Pick<Required<TriedNote>, 'facts' | 'signals'>> {
    const executed = executedFeatures(trial.proofs, trial.result, round.texts.get(ranked.candidate.id));
    // A candidate with commands may have waited for a person: only its checks show the duration of such a step.
    const acted = (ranked.candidate.acts ?? []).length > 0;
    const seconds = acted ? (executed.seconds ?? 0) : wallSeconds;
    if (trial.proofs.length > 0) this.#learn(seconds);
    const { decisionModels } = this.#scope.context;
    const measured = trial.proofs.length === 0 ? null : await decisionModels.score(ranked, executed);
    const { energy, pSuccess } = measured ?? ranked;
    const signals = { ...this.signals(round, ranked), energy, pSuccess };
    return { facts: this.#facts(node, round, ranked, trial, { executed, seconds }), signals };
  }

  signals({ control, plan, response, ranking }: Round, { energy, pSuccess }: Pick<Ranked, 'energy' | 'pSuccess'>): StepSignals {
    return {
      risk: control.risk,
      energy,
      pSuccess,
      margin: ranking.margin ?? response.margin,
      entropyNats: response.entropyNats,
      k: ranking.ranked.length,
      deliberate: plan.deliberate,
      degraded: [...this.#absence.words, ...this.#scope.context.decisionModels.degraded],
    };
  }

  /** A noted candidate is a step from now on. */
  add(note: TriedNote): void {
    const step = controlStep(note, this.#experts);
    if (step !== null) this.#steps.push(step);
  }

  #facts(
    node: SearchNode,
    { expert }: Round,
    { candidate, features }: Ranked,
    { proofs }: Trial,
    { executed, seconds }: { readonly executed: Features; readonly seconds: number },
  ): StepFacts {
    const onTree = node.proofs === undefined || node.proofs.length === 0 ? this.#baselineRuns() : node.proofs;
    const runs = proofs.length > 0 ? proofs : onTree;
    const sum = (of: (run: (typeof runs)[number]) => number): number => runs.reduce((total, run) => total + of(run), 0);
    const { edits, acts = [], score } = candidate;
    return {
      tool: acts.length > 0 ? 'Shell' : 'Editor',
      expert: expert.name,
      proposalShare: score,
      ...(features.suspicion !== undefined && { suspicion: features.suspicion }),
      edits: Math.min(64, edits.length),
      testsFailing: sum(testsFailed),
      testsTotal: sum(testsTotal),
      testsFixed: executed.testsFixed ?? 0,
      depth: Math.min(64, node.depth),
      seconds,
      budgetUsed: budgetUsed(this.#scope),
    };
  }

  #baselineRuns() {
    return this.#baseline.checks.flatMap(({ baseline }) => baseline.slice(0, 1).map((run) => ({ run })));
  }

  #learn(seconds: number): void {
    this.#seconds.push(seconds);
    if (this.#seconds.length > rememberedTrials) this.#seconds.shift();
  }
}

/** Factor by which another tree must be better. */
const clearly = 2;

/** Descending; infinities differ by nothing. */
const byWorth = (a: number, b: number): number => (a === b ? 0 : b - a);

/**
 * The trees that the search may go on from. Rebuilt from the event log, so that a worker that takes over tries nothing
 * twice and loses no progress.
 */
export class Frontier {
  readonly #nodes = new Map<string, SearchNode>();
  readonly root: SearchNode;
  readonly #backtracking: boolean;

  /** @param options `backtracking: false`: an experiment that never returns to a tree that it has left */
  constructor({ snapshot: { id, manifestDigest }, passing, proofs }: Start, noted: Noted, options = { backtracking: true }) {
    this.#backtracking = options.backtracking;
    this.root = this.#add(new SearchNode({ state: manifestDigest, parent: null, planId: 'repair', edits: [], snapshot: id, passing }));
    this.root.proofs = proofs;
    for (const { parent, state, candidate, edits, acts = [], snapshot, passing } of noted.accepted) {
      const above = this.#nodes.get(parent);
      // A name that does not follow from its parent is foreign.
      if (above === undefined || this.#nodes.has(state) || stateAfter(parent, candidate) !== state) continue;
      const acted = acts.length > 0;
      this.#add(new SearchNode({ state, parent: above, planId: 'repair', edits, snapshot, passing: new Set(passing), acted }));
    }
    for (const { state, id, step, result, facts } of noted.tried) {
      const node = this.#nodes.get(state);
      // A candidate that held in place and was cut off before its result in the fresh container is found again;
      // commands are not, see `earlierRun`.
      if (node === undefined || result === 'Reached') continue;
      node.tried.add(id);
      if (facts === undefined) continue;
      node.reach(facts.expert, step);
      if (facts.proposalShare !== undefined) node.nextShare = Math.min(node.nextShare, facts.proposalShare);
      this.#nodes.get(stateAfter(state, id))?.reach(facts.expert, step + 1);
    }
  }

  #add(node: SearchNode): SearchNode {
    this.#nodes.set(node.state, node);
    return node;
  }

  grow(init: ConstructorParameters<typeof SearchNode>[0]): SearchNode {
    return this.#nodes.get(init.state) ?? this.#add(new SearchNode(init));
  }

  /**
   * Returns the node to continue with; null when all are exhausted. A tree without a request comes first: it is new
   * progress. Then the one whose next proposal is most likely the repair: trust in the tree × share of the proposal.
   * That is the order of optimal search (L. D. Stone, Theory of Optimal Search, 1975), and no tree is searched to its
   * end while another one promises more: a test that passes by accident misleads a greedy search. Changing trees costs
   * a restore, so the other one has to be clearly better.
   *
   * @param current where the search is now
   */
  best(current: SearchNode | null): SearchNode | null {
    const reachable = this.#backtracking ? [...this.#nodes.values()] : [...this.#nodes.values()].slice(-1);
    const open = reachable.filter(({ exhausted }) => !exhausted);
    const worth = ({ promise, nextShare }: SearchNode): number => promise * nextShare;
    const fresh = open.filter(({ nextShare }) => nextShare === Number.POSITIVE_INFINITY);
    const among = fresh.length > 0 ? fresh : open;
    const [best] = among.sort((a, b) => byWorth(worth(a), worth(b)) || b.passing.size - a.passing.size || a.depth - b.depth);
    if (best === undefined) return null;
    const stay = current !== null && among.includes(current) && worth(current) * clearly >= worth(best);
    return stay ? current : best;
  }

  /** Returns the node with the most progress, exhausted or not. */
  furthest(): SearchNode {
    const [best] = [...this.#nodes.values()].sort((a, b) => b.passing.size - a.passing.size || a.depth - b.depth);
    return best ?? this.root;
  }

  /** Returns trees that are neither a node nor above it, and not given up yet; only those with their own step in the plan. */
  aside(node: SearchNode): readonly SearchNode[] {
    const path = new Set<SearchNode>();
    for (let at: SearchNode | null = node; at !== null; at = at.parent) path.add(at);
    return [...this.#nodes.values()].filter((one) => !path.has(one) && !one.exhausted && one.planId !== this.root.planId);
  }

  get tried(): number {
    return [...this.#nodes.values()].reduce((sum, { tried }) => sum + tried.size, 0);
  }
}
