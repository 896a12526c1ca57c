import { auc, brier, ece, scoredInterval, seeded, type Interval, type Scored } from '@agentfleet/eval/stats';
import { knotsOf, type Calibration } from '../../inference-image/src/models/energy/file.ts';
import { probability, type EnergyScorer } from '../../inference-image/src/models/energy/scorer.ts';
import { defaultWeights } from '../energy/measure.ts';
import { certain, isotonic } from '../numeric/metrics.ts';
import { onePerProblem, type LabelledAct } from './data.ts';
import type { Judged } from './folds.ts';

/** An act with the probability of a curve that never saw its problem. */
export interface Believed extends Judged {
  readonly p: number;
}

/** Isotonic map of energy to probability, in as many knots as `/v1/info` may report, so that its report is complete. */
export function curveOf(judged: readonly Judged[]): Calibration {
  const knots = knotsOf(isotonic(judged.map(({ energy, act }) => ({ score: energy, right: act.good }))));
  return {
    energies: knots.map(({ energy }) => Number(energy.toFixed(6))),
    probabilities: knots.map(({ probability }) => certain(probability)),
  };
}

/** Acts with the energies and probabilities of a model. */
export function believedBy(model: EnergyScorer, acts: readonly LabelledAct[]): readonly Believed[] {
  return acts.map((act) => {
    const { id, head, text, features } = act;
    const { energy, pSuccess } = model.score({ id, head, text, operator: 'pack', features }, defaultWeights);
    if (pSuccess === null) throw new Error(`the head ${head} has no calibration; train it first`);
    return { act, fold: 0, energy, p: pSuccess };
  });
}

/** Probabilities of all acts, each by a curve that was fitted without its fold. */
export function crossProbabilities(judged: readonly Judged[]): readonly Believed[] {
  return [...new Set(judged.map(({ fold }) => fold))].flatMap((fold) => {
    const curve = curveOf(onePerProblem(judged.filter((one) => one.fold !== fold)));
    return judged.filter((one) => one.fold === fold).map((one) => ({ ...one, p: probability(curve, one.energy) }));
  });
}

/** Value and bounds, as figures keep them. */
export const rounded = ({ value, low, high }: Interval): readonly number[] => [value, low, high].map((one) => Number(one.toFixed(4)));

/** A measure with its 95 % interval, which draws whole problems. */
export function worthBy(
  believed: readonly Believed[],
  score: (one: Believed) => number,
  measure: (some: readonly Scored[]) => number,
  seed: number,
): Interval {
  const scored = believed.map((one): Scored => ({ score: score(one), right: one.act.good, problem: one.act.problem }));
  return scoredInterval(scored, measure, { random: seeded(seed), resamples: 1000 });
}

/** AUC, ECE and Brier score with 95 % intervals that draw whole problems. */
export function worthOf(believed: readonly Believed[], seed: number) {
  return {
    samples: believed.length,
    auc: worthBy(believed, ({ energy }) => -energy, auc, seed),
    ece: worthBy(believed, ({ p }) => p, ece, seed),
    brier: worthBy(believed, ({ p }) => p, brier, seed),
  };
}
