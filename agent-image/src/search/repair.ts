import { shownId, seenAtBaseline, unparsed } from '../attempt/baseline.ts';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { type JudgedCheck, type Proof, type Baseline, passing, prove, stillFailing } from '../attempt/checkRun.ts';
import type { Candidate } from '@agentfleet/protocol/inference';
import { mayBacktrack } from '../attempt/meter.ts';
import { perform } from '../attempt/acts.ts';
import { AttemptFailure } from '../base/failure.ts';
import { Frontier, Rounds, type Round } from './rounds.ts';
import { createGate, type Gate } from '../attempt/gate.ts';
import { localise, type Focus } from './localise.ts';
import { minimise, newCodeNeeded, settle } from './proposals.ts';
import { enter, NodeGone, stateAfter, type SearchNode, startOf, trustIn } from './node.ts';
import type { Participant, Ranked } from '../attempt/ports.ts';
import { type AcceptedNote, type TriedNote, signalsReport } from '../attempt/notes.ts';
import type { Prepared, Scope, Winner } from '../attempt/scope.ts';
import { quickChecks, attemptCandidate, type Trial } from './trial.ts';

/** Facts about a search that ended without a result. */
export interface SearchEnd {
  readonly checks: readonly JudgedCheck[];
  readonly experts: readonly Pick<ExpertEndpoint, 'name' | 'role' | 'engine'>[];
  readonly tried: number;
  /** Tests that failed at snapshot 0 and pass on the best tree. */
  readonly gained: number;
  /** Ids that still fail on the best tree. */
  readonly left: readonly string[];
}

/** The message of an end, and whether more budget could be its cure. Pure. */
export function describeSearchEnd(end: SearchEnd, spent: string | null): string {
  const { checks, tried, gained, left } = end;
  const failing = checks.reduce((sum, { judgement }) => sum + judgement.failing.length, 0);
  const candidates = `${tried} ${tried === 1 ? 'candidate was' : 'candidates were'} tried and`;
  const best = gained === 0 ? 'none made a failing test pass' : `the best made ${gained} of ${failing} failing tests pass`;
  const open = gained === 0 || left.length === 0 ? '' : `; still failing: ${left.slice(0, 3).map(shownId).join(', ')}`;
  const first = spent === null ? '' : `${spent}; `;
  const came = tried === 0 && gained === 0 ? 'nothing was tried' : `${candidates} ${best}${open}`;
  return `${first}${came}. At snapshot 0, ${seenAtBaseline(checks)}. ${cureOf(end, spent)}`;
}

/** More budget is a cure only for a search that made progress. */
function cureOf({ checks, experts, gained }: SearchEnd, spent: string | null): string {
  if (spent !== null && gained > 0) return 'A larger budget may reach the rest';
  const [broken] = checks.flatMap(({ baseline }) => baseline.flatMap(({ output }) => unparsed(output)));
  if (broken !== undefined) return `Correct ${broken.path} first, which does not parse, or use a pool with a chat model`;
  const proposers = experts.filter(({ role }) => role === 'Generalist' || role === 'Specialist');
  const names = proposers.map(({ name }) => name).join(', ');
  if (proposers.length > 0 && proposers.every(({ engine }) => engine === 'Synth'))
    return `This pool's experts (${names}: Synth) edit small expressions in Python, JavaScript and TypeScript files that exist; they write no files, no new code and no answers: for other goals use a pool with a chat model`;
  return 'Give the pool an expert for this kind of change, or split the goal';
}

/**
 * Tries candidates until all checks hold in place. The tree is then snapshot 0 with only the accepted edits.
 *
 * @throws AttemptFailure Stuck when no candidate is left, BudgetExceeded
 */
export async function repair(scope: Scope, prepared: Prepared, baseline: Baseline): Promise<Winner> {
  const start = await startOf(scope, prepared, baseline);
  const frontier = new Frontier(start, scope.noted, { backtracking: mayBacktrack(scope.context) });
  if (!start.holds) return new Search(scope, baseline, frontier).run();
  scope.progress.establish('ReachedInPlace');
  return {};
}

type MeasuredTrial = Trial & { readonly energy: number | null };

interface Improvement {
  readonly candidate: Candidate;
  readonly trial: MeasuredTrial;
  readonly planId: string;
}

/** Candidates that a search tries again with all the time of their checks. */
const mostFullTime = 3;

class Search {
  readonly #scope: Scope;
  readonly #baseline: Baseline;
  readonly #gate: Gate;
  readonly #frontier: Frontier;
  readonly #rounds: Rounds;
  /** Runs of failing tests alone; none until they were measured. */
  #quick: readonly JudgedCheck[] = [];
  readonly #proposers = new Map<string, Participant>();
  /** Candidates that were ended before the time that the task gives its checks, and how many of them may still have it. */
  readonly #cut: { readonly node: SearchNode; readonly round: Round }[] = [];
  #fullTime = mostFullTime;

  constructor(scope: Scope, baseline: Baseline, frontier: Frontier) {
    const { context, session, options } = scope;
    this.#scope = scope;
    this.#baseline = baseline;
    this.#gate = createGate({ rails: options.rails, task: context.task, session }, baseline.protectedSet);
    this.#frontier = frontier;
    this.#rounds = new Rounds(scope, baseline);
  }

  /** @throws AttemptFailure Stuck, or BudgetExceeded with the search's progress */
  async run(): Promise<Winner> {
    try {
      return await this.#search();
    } catch (error) {
      if (!(error instanceof AttemptFailure) || error.failureClass !== 'BudgetExceeded') throw error;
      throw new AttemptFailure(error.failureClass, error.reason, this.#described(error.message));
    }
  }

  async #search(): Promise<Winner> {
    const { meter, progress } = this.#scope;
    let current: SearchNode | null = null;
    for (let node = this.#frontier.best(null); node !== null; node = this.#frontier.best(node)) {
      meter.check();
      if (node !== current) {
        if (current !== null && node.depth <= current.depth) meter.add('backtracks');
        if (!(await this.#reach(node))) continue;
        current = node;
      }
      const focus = await this.#focus(node);
      this.#assertInReach(node, focus);
      const round = focus === null ? null : await this.#rounds.next(node, focus);
      if (focus === null || round === null) {
        node.exhausted = true;
        if (node.planId !== 'repair') progress.change(node.planId, { state: 'Failed' });
        continue;
      }
      const winner = await this.#round(node, round);
      if (winner !== null) return winner;
      settle(node, round.expert.name, round.response);
      node.offer(round.response.candidates);
    }
    return (await this.#again()) ?? (await this.#search());
  }

  /**
   * Tries the first of those that were cut off once more, with all the time that the task gives: a repair may take its time.
   *
   * @throws AttemptFailure Stuck when none is left
   */
  async #again(): Promise<Winner | null> {
    const late = this.#cut.shift();
    if (late === undefined || this.#fullTime === 0) throw await this.#stuck();
    this.#fullTime -= 1;
    return (await this.#reach(late.node)) ? this.#round(late.node, late.round, true) : null;
  }

  /** Returns the places for edits on this tree; found once per node, after checking what fails there. */
  async #focus(node: SearchNode): Promise<Focus | null> {
    if (node.focus !== undefined) return node.focus;
    const { session, progress } = this.#scope;
    progress.begin('localise', 'looking for the lines that failing tests execute');
    const fails = this.#baseline.checks.filter(({ judgement }) => judgement.failing.length > 0);
    const atSnapshot0 = node.parent === null && node.proofs === undefined;
    const proofs: Proof[] = [];
    if (!atSnapshot0) for (const judged of fails) proofs.push(await prove(judged, this.#baseline));
    const runs = atSnapshot0 ? fails.flatMap(({ baseline }) => baseline.slice(0, 1)) : proofs.map(({ run }) => run);
    if (atSnapshot0) this.#quick = await quickChecks(this.#baseline);
    node.focus = await localise(this.#scope, this.#baseline, runs);
    node.proofs = proofs;
    node.trust = trustIn(node);
    if (node.snapshot === null || (await session.diff(node.snapshot)).entries.length > 0) await enter(this.#scope, node);
    progress.finish('localise');
    progress.say(`${node.focus?.files.length ?? 0} files to look at`);
    return node.focus;
  }

  /** @throws AttemptFailure Stuck NewCodeNeeded, before anything is tried: an expert that edits expressions defines nothing */
  #assertInReach(node: SearchNode, focus: Focus | null): void {
    if (node.parent !== null || focus === null || this.#frontier.tried > 0) return;
    const why = newCodeNeeded(focus, this.#scope.context.pool.experts);
    if (why !== null) throw new AttemptFailure('Stuck', 'NewCodeNeeded', `${why}; ${this.#described(null)}`);
  }

  /**
   * Tries the due candidates, the best first. Usually the first that makes a better tree is kept; in a deliberate round
   * all are tried and the one with the lowest energy is.
   */
  async #round(node: SearchNode, round: Round, fullTime = false): Promise<Winner | null> {
    const better: Improvement[] = [];
    this.#tellSignals(round, round.due[0]);
    for (const [at, ranked] of round.due.entries()) {
      const { candidate } = ranked;
      const planId = this.#begin(node, ranked, round.due.length - at);
      const trial = await this.#try(node, round, ranked, fullTime);
      if (trial.result === 'Reached') return this.#take(node, round, candidate, trial, planId);
      const state = trial.result === 'Denied' || trial.result === 'Unusable' ? 'Dropped' : 'Failed';
      if (trial.result === 'Better') better.push({ candidate, trial, planId });
      else this.#scope.progress.change(planId, { state });
      if (better.length > 0 && !round.plan.deliberate) break;
    }
    this.#scope.progress.count(this.#frontier.tried, this.#frontier.tried);
    await this.#acceptBest(node, better);
    return null;
  }

  #begin(node: SearchNode, { candidate: { rationale, location } }: Ranked, left: number): string {
    const { progress } = this.#scope;
    const { tried } = this.#frontier;
    progress.count(tried, tried + left);
    const where = `${location.path}:${location.line}`;
    progress.say(`trying ${tried + 1} of ${tried + left}: ${rationale} in ${where}`);
    return progress.step(node.planId, `${rationale} (${where})`);
  }

  async #try(node: SearchNode, round: Round, ranked: Ranked, fullTime: boolean): Promise<MeasuredTrial> {
    const { clock } = this.#scope.context;
    const began = clock.monotonic();
    const place = { scope: this.#scope, baseline: this.#baseline, gate: this.#gate, node, fullTime, quick: this.#quick };
    const trial = await attemptCandidate(place, ranked.candidate);
    if (trial.cut) this.#cut.push({ node, round: { ...round, due: [ranked] } });
    node.tried.add(ranked.candidate.id);
    const { facts, signals } = await this.#rounds.judge(node, round, ranked, trial, (clock.monotonic() - began) / 1000);
    const note = noteOf({ node, step: round.step, candidate: ranked.candidate, trial, attempt: this.#scope.context.assignment.attempt });
    await this.#scope.session.note('Tried', { ...note, facts, signals });
    this.#rounds.add({ ...note, facts, signals });
    this.#tellSignals(round, signals);
    return { ...trial, energy: signals.energy };
  }

  #tellSignals(round: Round, about: Pick<Ranked, 'energy' | 'pSuccess'> | undefined): void {
    const { decisionModels } = this.#scope.context;
    const { expert, response } = round;
    const proposed = { role: expert.role, name: expert.name, digest: response.modelDigest };
    this.#proposers.set(expert.name, proposed);
    const signals = this.#rounds.signals(round, about ?? { energy: null, pSuccess: null });
    const experts = [...this.#proposers.values(), ...decisionModels.participants];
    this.#scope.progress.say(null, { experts, signals: signalsReport(signals) });
  }

  /** All checks hold in place: the candidate is applied again on the clean tree. Steps that led elsewhere are dropped. */
  async #take(node: SearchNode, { step }: Round, candidate: Candidate, trial: Trial, planId: string): Promise<Winner> {
    await perform(this.#scope, trial);
    for (const { planId: other } of this.#frontier.aside(node)) this.#scope.progress.change(other, { state: 'Dropped' });
    this.#scope.progress.change(planId, { state: 'Done' });
    if (trial.acts.length === 0) await minimise(this.#scope, this.#baseline, node, candidate.edits);
    this.#scope.progress.establish('ReachedInPlace');
    const { rationale } = candidate;
    const place = { attempt: this.#scope.context.assignment.attempt, state: node.state, step };
    return { rationale, ifNotVerified: { ...place, ...named(candidate), decision: 'Allow', result: 'NotVerified' } };
  }

  /** The lowest energy of those that brought the work forward; the first where none was measured. */
  async #acceptBest(node: SearchNode, better: readonly Improvement[]): Promise<void> {
    const energy = ({ trial }: Improvement): number => trial.energy ?? Number.POSITIVE_INFINITY;
    const [best, ...others] = better.toSorted((a, b) => (energy(a) === energy(b) ? 0 : energy(a) - energy(b)));
    if (best === undefined) return;
    for (const { planId } of others) this.#scope.progress.change(planId, { state: 'Dropped' });
    await this.#accept(node, best.candidate, best.trial, best.planId);
  }

  /** Makes the tree that of a node; false when there is no way back to it, and then it is not tried again. */
  async #reach(node: SearchNode): Promise<boolean> {
    try {
      await enter(this.#scope, node);
      return true;
    } catch (error) {
      if (!(error instanceof NodeGone)) throw error;
      this.#scope.context.log.info('a tree is given up', { why: error.message });
      node.exhausted = true;
      return false;
    }
  }

  /** A better tree becomes a new node: good, and a place to return to. */
  async #accept(node: SearchNode, candidate: Candidate, trial: Trial, planId: string): Promise<void> {
    const { context, session, progress } = this.#scope;
    await perform(this.#scope, trial);
    const { after, acts } = trial;
    const taken = after ?? (context.task.spec.snapshots.policy === 'InitialOnly' ? null : (await session.snapshot(planId)).id);
    const now = passing(trial.proofs);
    const state = stateAfter(node.state, candidate.id);
    const note: AcceptedNote = {
      attempt: context.assignment.attempt,
      parent: node.state,
      state,
      candidate: candidate.id,
      edits: candidate.edits,
      ...(acts.length > 0 && { acts }),
      snapshot: taken,
      passing: [...now],
    };
    await session.note('Accepted', { ...note });
    this.#frontier.grow({ state, parent: node, planId, edits: candidate.edits, snapshot: taken, passing: now, acted: acts.length > 0 });
    progress.change(planId, { state: 'Done' });
    progress.say(`${now.size} tests pass that failed; going on from there`);
  }

  async #stuck(): Promise<AttemptFailure> {
    await enter(this.#scope, this.#frontier.furthest());
    const { rejection } = this.#scope.approvals;
    if (rejection !== null)
      return new AttemptFailure('ApprovalRejected', 'ApprovalRejected', `${rejection}; ${this.#frontier.tried} candidates were tried`);
    return new AttemptFailure('Stuck', 'ProposalsExhausted', this.#described(null));
  }

  /** @param spent the budget that ended the search; null when nothing was left to try */
  #described(spent: string | null): string {
    const furthest = this.#frontier.furthest();
    const { checks } = this.#baseline;
    const { experts } = this.#scope.context.pool;
    const left = stillFailing(furthest.proofs ?? []);
    return describeSearchEnd({ checks, experts, tried: this.#frontier.tried, gained: furthest.passing.size, left }, spent);
  }
}

interface Noting {
  readonly node: SearchNode;
  readonly step: number;
  readonly candidate: Candidate;
  readonly trial: Trial;
  readonly attempt: number;
}

function noteOf({ node, step, candidate, trial: { result, decision, why, possiblyDone }, attempt }: Noting): TriedNote {
  return {
    attempt,
    state: node.state,
    step,
    ...named(candidate),
    decision,
    result,
    why: why.slice(0, 500),
    ...(possiblyDone && { possiblyDone }),
    ...contentOf(candidate),
  };
}

function named({ id, operator, location: { path, line } }: Candidate): Pick<TriedNote, 'id' | 'operator' | 'location'> {
  return { id, operator, location: `${path}:${line}` };
}

/** Most characters of a candidate's changes in a note about it, which must fit with the rest. */
const maxContent = 65_536;

function contentOf({ edits, acts = [] }: Candidate): Pick<TriedNote, 'edits' | 'acts'> {
  if (JSON.stringify([edits, acts]).length > maxContent) return {};
  return { edits, ...(acts.length > 0 && { acts }) };
}
