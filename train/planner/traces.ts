import type { ControlStep } from '@agentfleet/protocol/inference';
import { isProgress } from '../../inference-image/src/models/planner/encode.ts';
import type { EnergyScorer } from '../../inference-image/src/models/energy/scorer.ts';
import type { Split, Subject } from '../data/generate.ts';
import type { State, Tried } from '../data/search.ts';
import { defaultWeights } from '../energy/measure.ts';
import { unexecuted } from '../energy/items.ts';
import type { Random } from '../numeric/random.ts';

/** Steps of one search in the order in which a worker tries, as the planner sees them. */
export interface Trace {
  readonly problem: string;
  readonly split: Split;
  readonly experts: number;
  readonly steps: readonly ControlStep[];
  /** Each step before it was taken. */
  readonly planned: readonly ControlStep[];
  /** False: the data end here, the search would have gone on. */
  readonly ended: boolean;
}

const maxSteps = 96;

/** Steps ahead within which the work must come forward, or it stands still. */
const horizon = 16;

/** Settings of one search: chosen per trace, so that the planner meets all that it will meet. */
interface Manner {
  readonly experts: number;
  /** Index of the expert whose proposals are in Synth's order; those of the others are in a random one. */
  readonly best: number;
  readonly perRound: number;
  readonly verifier: boolean;
  readonly rerank: boolean;
  /** Tests of real repositories take longer: wall times are multiplied by this. */
  readonly slowness: number;
  readonly budget: number;
}

/** Searches through what was run: greedy, the best first; a better tree is accepted, the search ends when all is reached. */
export function tracesOf(subjects: readonly Subject[], energy: EnergyScorer, perSubject: number, random: Random): Trace[] {
  return subjects.flatMap((subject) =>
    Array.from({ length: perSubject }, (_, at) => {
      const manner = mannerOf(random, at);
      return { ...new Walk(subject.states, energy, manner, random).run(), problem: subject.problem, split: subject.split };
    }).filter(({ steps }) => steps.length > 0),
  );
}

function mannerOf(random: Random, at: number): Manner {
  const experts = at % 2 === 0 ? 1 : 1 + random.below(4);
  const verifier = random.next() < 0.75;
  const perRound = random.pick([1, 2, 4, 8]);
  const slowness = Math.exp(4 * random.next());
  return { experts, best: random.below(experts), perRound, verifier, rerank: verifier, slowness, budget: 40 + random.below(200) };
}

class Walk {
  readonly #states: readonly State[];
  readonly #energy: EnergyScorer;
  readonly #manner: Manner;
  readonly #random: Random;
  readonly #steps: ControlStep[] = [];
  readonly #planned: ControlStep[] = [];

  constructor(states: readonly State[], energy: EnergyScorer, manner: Manner, random: Random) {
    this.#states = states;
    this.#energy = energy;
    this.#manner = manner;
    this.#random = random;
  }

  run(): Omit<Trace, 'problem' | 'split'> {
    let at: number | null = 0;
    let ended = false;
    while (at !== null && this.#steps.length < maxSteps) {
      const accepted: Tried | null = this.#search(this.#states[at] as State);
      ended = accepted?.result === 'Reached';
      at = accepted?.next ?? null;
    }
    return { experts: this.#manner.experts, steps: this.#steps, planned: this.#planned, ended };
  }

  /** Tries round after round; what is accepted, or null when all was tried. */
  #search(state: State): Tried | null {
    const { experts, best, perRound } = this.#manner;
    const orders = Array.from({ length: experts }, (_, at) => (at === best ? [...state.tried] : this.#random.shuffle(state.tried)));
    const done = new Set<Tried>();
    while (done.size < state.tried.length) {
      const expert = this.#random.below(experts);
      const open = (orders[expert] ?? []).filter((one) => !done.has(one)).slice(0, perRound);
      const energies = open.map((one) => ({ one, energy: this.#score(one, true)?.energy ?? 0 }));
      if (this.#manner.rerank) energies.sort((a, b) => a.energy - b.energy);
      const margin = this.#manner.rerank ? gap(energies.map(({ energy }) => energy)) : state.marginNats;
      for (const { one } of energies) {
        done.add(one);
        if (this.#steps.length >= maxSteps) return null;
        this.#take(state, one, expert, margin);
        if (isProgress(one.result)) return one;
      }
    }
    return null;
  }

  #take(state: State, one: Tried, expert: number, margin: number | null): void {
    const { features, result, timeouts } = one;
    const { slowness, budget } = this.#manner;
    const failing = this.#steps.at(-1)?.testsFailing ?? features.testsFailed ?? 0;
    const known = { tool: 'Editor' as const, expert, entropyNats: state.entropyNats, ...(margin !== null && { marginNats: margin }) };
    const place = { proposalShare: features.proposalShare ?? 0, suspicion: features.suspicion ?? 0, edits: features.edits ?? 1 };
    const rest = { testsTotal: state.tests, depth: state.depth, budgetUsed: Math.min(1, this.#steps.length / budget) };
    const before = { result: 'None' as const, testsFailing: failing, testsFixed: 0, seconds: 0 };
    const seconds = Math.round(100 * slowness * (0.05 + 0.2 * timeouts)) / 100;
    const after = { result, testsFailing: one.failing, testsFixed: features.testsFixed ?? 0, seconds };
    this.#planned.push({ ...known, ...this.#score(one, true), ...place, ...rest, ...before });
    this.#steps.push({ ...known, ...this.#score(one, false), ...place, ...rest, ...after });
  }

  #score(one: Tried, early: boolean): { energy: number; pSuccess?: number } | null {
    if (!this.#manner.verifier) return null;
    const features = early ? unexecuted(one.features) : one.features;
    const { operator, text } = one;
    const { energy, pSuccess } = this.#energy.score({ id: 'step', head: 'Code', operator, text, features }, defaultWeights);
    return { energy, ...(pSuccess !== null && { pSuccess }) };
  }
}

function gap([first, second]: readonly number[]): number | null {
  return first === undefined || second === undefined ? null : Math.max(0, second - first);
}

/** Reports whether the work stands still at a step: nothing better within the horizon. Null where the data end before. */
export function standstill({ steps, ended }: Trace, at: number): boolean | null {
  const ahead = steps.slice(at, at + horizon);
  if (ahead.some(({ result }) => isProgress(result))) return false;
  return ahead.length === horizon || ended ? true : null;
}
