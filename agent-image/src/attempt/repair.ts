import type { Candidate, GenerateResponse } from '@agentfleet/protocol/inference';
import type { Baseline } from './baseline.ts';
import { passing, prove, stillFailing, type Proof } from './evidence.ts';
import { AttemptFailure } from './failure.ts';
import { Frontier } from './frontier.ts';
import { createGate, type Gate } from './gate.ts';
import { localise, type Focus } from './localise.ts';
import { enter, stateAfter, write, type SearchNode } from './node.ts';
import type { AcceptedNote, TriedNote } from './notes.ts';
import type { Prepared } from './prepare.ts';
import { propose } from './proposals.ts';
import type { Scope } from './scope.ts';
import { startOf } from './start.ts';
import { attemptCandidate, type Trial } from './trial.ts';

/** A tree on which all checks hold in place, and how it was found. */
export interface Winner {
  /** The last step; null when an earlier attempt left a tree on which they hold. */
  readonly candidate: Candidate | null;
  /** State and step that it was tried on; for the note when it does not hold in a fresh container. */
  readonly from: SearchNode;
}

/**
 * Tries candidates until all checks hold in place. The tree is then snapshot 0 with the accepted edits and nothing else.
 *
 * @throws AttemptFailure Stuck when there is nothing left to try, BudgetExceeded
 */
export async function repair(scope: Scope, prepared: Prepared, baseline: Baseline): Promise<Winner> {
  const start = await startOf(scope, prepared, baseline);
  const frontier = new Frontier(start, scope.noted);
  if (!start.holds) return new Search(scope, baseline, frontier).run();
  scope.progress.establish('ReachedInPlace');
  return { candidate: null, from: frontier.root };
}

class Search {
  readonly #scope: Scope;
  readonly #baseline: Baseline;
  readonly #gate: Gate;
  readonly #frontier: Frontier;

  constructor(scope: Scope, baseline: Baseline, frontier: Frontier) {
    const { context, hands, options } = scope;
    this.#scope = scope;
    this.#baseline = baseline;
    const absolute = (path: string): string => hands.absolute(path);
    this.#gate = createGate({ rails: options.rails, task: context.task, roots: hands.roots, absolute }, baseline.protectedSet);
    this.#frontier = frontier;
  }

  async run(): Promise<Winner> {
    const { meter, progress } = this.#scope;
    let current: SearchNode | null = null;
    for (let node = this.#frontier.best(); node !== null; node = this.#frontier.best()) {
      meter.check();
      if (node !== current) {
        if (current !== null && node.depth <= current.depth) meter.add('backtracks');
        await enter(this.#scope, node);
        current = node;
      }
      const focus = await this.#focus(node);
      const round = focus === null ? null : await propose(this.#scope, node, focus);
      if (focus === null || round === null) {
        node.exhausted = true;
        if (node.planId !== 'repair') progress.change(node.planId, { state: 'Failed' });
        continue;
      }
      const winner = await this.#round(node, focus, round);
      if (winner !== null) return winner;
    }
    throw await this.#stuck();
  }

  /** Where to look on this tree; found once per node, after a look at what fails there. */
  async #focus(node: SearchNode): Promise<Focus | null> {
    if (node.focus !== undefined) return node.focus;
    const { hands, progress } = this.#scope;
    progress.begin('localise', 'looking for the lines that failing tests execute');
    const fails = this.#baseline.checks.filter(({ judgement }) => judgement.failing.length > 0);
    const atSnapshot0 = node.parent === null && node.proofs === undefined;
    const proofs: Proof[] = [];
    if (!atSnapshot0) for (const judged of fails) proofs.push(await prove(judged, this.#baseline));
    const runs = atSnapshot0 ? fails.flatMap(({ baseline }) => baseline.slice(0, 1)) : proofs.map(({ run }) => run);
    node.focus = await localise(this.#scope, this.#baseline, runs);
    node.proofs = proofs;
    if (node.snapshot === null || (await hands.diff(node.snapshot)).entries.length > 0) await enter(this.#scope, node);
    progress.finish('localise');
    progress.say(`${node.focus?.files.length ?? 0} files to look at`, { urgent: true });
    return node.focus;
  }

  /** Tries the candidates of one answer; ends early when one of them makes a better tree. */
  async #round(node: SearchNode, focus: Focus, round: GenerateResponse): Promise<Winner | null> {
    const { progress } = this.#scope;
    this.#tellSignals(focus, node, round);
    for (const [at, candidate] of round.candidates.entries()) {
      if (node.tried.has(candidate.id)) continue;
      const total = this.#frontier.tried + round.candidates.length - at;
      progress.count(this.#frontier.tried, total);
      const where = `${candidate.location.path}:${candidate.location.line}`;
      const planId = progress.step(node.planId, `${candidate.rationale} (${where})`, candidate.score);
      progress.say(`trying ${this.#frontier.tried + 1} of ${total}: ${candidate.rationale} in ${where}`);
      const trial = await attemptCandidate(this.#scope, this.#baseline, this.#gate, node, candidate);
      node.tried.add(candidate.id);
      await this.#note(node, candidate, trial);
      if (trial.result === 'Reached') return this.#take(node, candidate, trial, planId);
      if (trial.result === 'Better') {
        await this.#accept(node, candidate, trial, planId);
        return null;
      }
      progress.change(planId, { state: trial.result === 'Denied' || trial.result === 'Unusable' ? 'Dropped' : 'Failed' });
    }
    progress.count(this.#frontier.tried, this.#frontier.tried);
    return null;
  }

  #tellSignals({ expert }: Focus, node: SearchNode, { margin, entropyNats, candidates, modelDigest }: GenerateResponse): void {
    const number = (value: number): string => Math.min(value, 1e8).toFixed(6);
    const energy = candidates[0]?.energy;
    this.#scope.progress.say(
      null,
      {},
      {
        experts: [{ role: expert.role, name: expert.name, digest: modelDigest }],
        signals: {
          k: candidates.length,
          entropyNats: number(entropyNats),
          deliberate: node.maxEdits === 2,
          ...(margin !== null && { margin: number(margin) }),
          ...(energy !== undefined && { energy: number(energy) }),
        },
      },
    );
  }

  async #note(node: SearchNode, candidate: Candidate, { result, decision, why }: Trial): Promise<void> {
    const note: TriedNote = {
      attempt: this.#scope.context.assignment.attempt,
      state: node.state,
      step: node.asked,
      id: candidate.id,
      operator: candidate.operator,
      location: `${candidate.location.path}:${candidate.location.line}`,
      decision,
      result,
      why: why.slice(0, 500),
    };
    await this.#scope.hands.note('Tried', { ...note });
  }

  /** All checks hold in place: the candidate's edits are made again on the clean tree. */
  async #take(node: SearchNode, candidate: Candidate, { rewrites }: Trial, planId: string): Promise<Winner> {
    await write(this.#scope, rewrites);
    this.#scope.progress.change(planId, { state: 'Done' });
    this.#scope.progress.establish('ReachedInPlace');
    return { candidate, from: node };
  }

  /** A better tree becomes a node of its own: good, and the place to come back to. */
  async #accept(node: SearchNode, candidate: Candidate, { rewrites, proofs }: Trial, planId: string): Promise<void> {
    const { context, hands, progress } = this.#scope;
    await write(this.#scope, rewrites);
    const taken = context.task.spec.snapshots.policy === 'InitialOnly' ? null : (await hands.snapshot(planId)).id;
    const now = passing(proofs);
    const state = stateAfter(node.state, candidate.id);
    const note: AcceptedNote = {
      attempt: context.assignment.attempt,
      parent: node.state,
      state,
      candidate: candidate.id,
      edits: candidate.edits,
      snapshot: taken,
      passing: [...now],
    };
    await hands.note('Accepted', { ...note });
    this.#frontier.grow({ state, parent: node, planId, edits: candidate.edits, snapshot: taken, passing: now });
    progress.change(planId, { state: 'Done', ...(taken !== null && { snapshot: taken }) });
    progress.say(`${now.size} tests pass that failed; going on from there`, { urgent: true });
  }

  async #stuck(): Promise<AttemptFailure> {
    const { furthest, tried } = { furthest: this.#frontier.furthest(), tried: this.#frontier.tried };
    await enter(this.#scope, furthest);
    const fails = this.#baseline.checks.reduce((sum, { judgement }) => sum + judgement.failing.length, 0);
    const left = stillFailing(furthest.proofs ?? []).slice(0, 3);
    const best =
      furthest.passing.size === 0
        ? 'none made a failing test pass'
        : `the best made ${furthest.passing.size} of ${fails} failing tests pass`;
    const open = left.length === 0 ? '' : `; still failing: ${left.join(', ')}`;
    const message = `${tried} candidates were tried and ${best}${open}. Give the pool an expert for this kind of change, or split the goal`;
    return new AttemptFailure('Stuck', 'ProposalsExhausted', message);
  }
}
