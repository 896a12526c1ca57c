import {
  changedText,
  spectrumFromRuns,
  type Candidate,
  type CoverageRun,
  type FailingTest,
  type Features,
  type Localisation,
  type StepResult,
} from '@agentfleet/protocol/inference';
import type { Generated } from '../../inference-image/src/base/engine.ts';
import type { Engine } from '../../inference-image/src/base/served.ts';
import { patched, requestOf } from '../../inference-image/src/engines/synth/evaluation/evaluate.ts';
import { suspicionOf } from '../../inference-image/src/engines/synth/synth.ts';
import type { Judge, Program, Run } from './judge.ts';
import type { Problem } from './problems.ts';

/** One candidate that was run: what was known before, what it came to, and whether it is right. */
export interface Tried {
  readonly operator: string;
  readonly text: string;
  /** Before the act and after it. */
  readonly features: Features;
  readonly result: StepResult;
  /** All tests pass, those that the search never saw included. */
  readonly right: boolean;
  readonly timeouts: number;
  readonly failing: number;
  /** State that follows when it is accepted; null: not explored. */
  readonly next: number | null;
}

/** A tree of the program with the candidates for it, in the order of the expert. */
export interface State {
  readonly depth: number;
  readonly entropyNats: number;
  readonly marginNats: number | null;
  readonly tests: number;
  readonly tried: readonly Tried[];
}

export interface SearchOptions {
  readonly engine: Engine;
  readonly judge: Judge;
  /** Candidates that are run at the first state and at the later ones. */
  readonly candidates: readonly [number, number];
  /** Better trees that are explored from each state. */
  readonly branches: number;
  readonly maxDepth: number;
}

/** Tests that the search sees: every other call. */
const visible = (at: number): boolean => at % 2 === 0;

/** All that was tried on one program with bugs: states, the first one first. Empty when no visible test fails. */
export async function explore(problem: Problem, source: string, expected: readonly string[], options: SearchOptions): Promise<State[]> {
  const search = new Exploration(problem, expected, options);
  await search.explore(source, 0);
  return search.states;
}

interface Tree {
  readonly source: string;
  /** Of the visible tests. */
  readonly outcomes: string;
  readonly suspicion: ReturnType<typeof suspicionOf>;
  readonly api: Run['api'];
}

class Exploration {
  readonly states: State[] = [];
  readonly #problem: Problem;
  readonly #expected: readonly string[];
  readonly #options: SearchOptions;
  #baseline = '';
  #complexity = 0;
  #lint = 0;

  constructor(problem: Problem, expected: readonly string[], options: SearchOptions) {
    this.#problem = problem;
    this.#expected = expected;
    this.#options = options;
  }

  /** Tries the candidates for a tree, then goes on from the first that are better. */
  async explore(source: string, depth: number): Promise<number | null> {
    const { judge, candidates, maxDepth } = this.#options;
    const here = await judge.run(this.#program(source), this.#expected, { trace: true, api: true });
    const outcomes = seen(here.outcomes);
    if (!here.compiles || here.crashed || !outcomes.includes('P', 0) || !/[FT]/.test(outcomes)) return null;
    if (depth === 0) [this.#baseline, this.#complexity, this.#lint] = [outcomes, here.complexity, here.lint];
    const localisation = this.#localise(here);
    const generated = await this.#generate(source, localisation, candidates[depth === 0 ? 0 : 1]);
    if (generated === null || generated.candidates.length === 0) return null;
    const at = this.states.length;
    const { entropyNats, margin } = generated;
    this.states.push({ depth, entropyNats, marginNats: margin, tests: outcomes.length, tried: [] });
    const suspicion = suspicionOf(localisation.spectrum);
    const tried: Tried[] = [];
    const sources = generated.candidates.map((candidate) => patched({ source }, candidate));
    const runs = await judge.runAll(this.#program(source), sources, this.#expected, { api: true });
    for (const [place, candidate] of generated.candidates.entries()) {
      const after = sources[place] ?? source;
      const one = this.#judged({ source, outcomes, suspicion, api: here.api }, candidate, runs[place] as Run);
      const worth =
        one.result === 'Better' && depth < maxDepth && tried.filter(({ next }) => next !== null).length < this.#options.branches;
      tried.push(worth ? { ...one, next: await this.explore(after, depth + 1) } : one);
    }
    this.states[at] = { ...(this.states[at] as State), tried };
    return at;
  }

  #program(source: string): Program {
    return { source, name: this.#problem.name, calls: this.#problem.calls };
  }

  get #path(): string {
    return `${this.#problem.name}.py`;
  }

  #localise(run: Run): Localisation {
    const tests = Array.from(run.outcomes)
      .map((outcome, at) => ({ outcome, at }))
      .filter(({ at }) => visible(at));
    const covered = tests.map(({ outcome, at }): CoverageRun => {
      const lines = [...(run.covered[at] ?? [])];
      return { test: `test_${at}`, outcome: outcome === 'P' ? 'Passed' : 'Failed', covered: [{ path: this.#path, lines }] };
    });
    const failingTests = tests.filter(({ outcome }) => outcome !== 'P').map(({ at }): FailingTest => this.#failing(run, at));
    return { spectrum: spectrumFromRuns(covered), failingTests };
  }

  async #generate(source: string, localisation: Localisation, k: number): Promise<Generated | null> {
    const request = { ...requestOf({ name: 'train', path: this.#path, source }, localisation), k };
    const [outcome] = await this.#options.engine.generate([request], new AbortController().signal);
    return outcome !== undefined && 'answer' in outcome ? outcome.answer : null;
  }

  #failing(run: Run, at: number): FailingTest {
    const [message, line] = run.messages[at] ?? ['', 0];
    return { id: `test_${at}`, message, ...(line > 0 && { trace: `File "${this.#path}", line ${line}` }) };
  }

  #judged({ source, outcomes: before, suspicion, api }: Tree, candidate: Candidate, run: Run): Tried {
    const now = seen(run.outcomes);
    const right = /^P+$/.test(run.outcomes);
    const count = (of: (outcome: string, at: number) => boolean): number => Array.from(now).filter(of).length;
    const fixed = count((outcome, at) => outcome === 'P' && this.#baseline[at] !== 'P');
    const broken = count((outcome, at) => outcome !== 'P' && this.#baseline[at] === 'P');
    const failing = count((outcome) => outcome !== 'P');
    const timeouts = count((outcome) => outcome === 'T');
    const { edits, score, rank, location, operator } = candidate;
    const features: Features = {
      proposalShare: score,
      rank,
      edits: edits.length,
      files: 1,
      suspicion: suspicion.at(location.path, location.line)?.ochiai ?? 0,
      charsAdded: edits.reduce((sum, { after }) => sum + after.length, 0),
      charsRemoved: edits.reduce((sum, { before }) => sum + before.length, 0),
      testsTotal: now.length,
      testsFailed: failing,
      testsFixed: fixed,
      testsBroken: broken,
      testsSkipped: 0,
      compileErrors: run.compiles ? 0 : 1,
      timedOut: timeouts > 0 ? 1 : 0,
      crashed: run.crashed ? 1 : 0,
      ...(run.compiles && !run.crashed && { complexityDelta: run.complexity - this.#complexity, lintDelta: run.lint - this.#lint }),
      ...apiDelta(api, run.api),
    };
    const result = run.crashed ? 'Crashed' : resultOf(this.#baseline, before, now, right);
    const text = changedText(candidate, [{ path: location.path, content: source }]);
    return { operator, text, features, result, right, timeouts, failing, next: null };
  }
}

function apiDelta([used, broken]: Run['api'], [usedAfter, brokenAfter]: Run['api']): Features {
  return {
    ...(used !== null && usedAfter !== null && { apiMismatch: usedAfter - used }),
    ...(broken !== null && brokenAfter !== null && { brokenNodes: brokenAfter - broken }),
  };
}

/** As the worker judges: nothing that passed at the baseline may break; what passes must grow. */
function resultOf(baseline: string, before: string, now: string, right: boolean): StepResult {
  const all = Array.from(now);
  if (all.some((outcome, at) => outcome !== 'P' && baseline[at] === 'P')) return 'Worse';
  if (!now.includes('F') && !now.includes('T')) return right ? 'Reached' : 'NotVerified';
  const lost = all.some((outcome, at) => outcome !== 'P' && before[at] === 'P');
  if (lost) return 'Worse';
  return all.some((outcome, at) => outcome === 'P' && before[at] !== 'P') ? 'Better' : 'Equal';
}

function seen(outcomes: string): string {
  return Array.from(outcomes)
    .filter((_, at) => visible(at))
    .join('');
}
