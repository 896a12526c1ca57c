import { auc, brier, ece, scoredInterval, seeded, type Interval, type Scored } from '@agentfleet/eval/stats';
import type { Calibration } from '../../inference-image/src/models/energy/file.ts';
import { probability } from '../../inference-image/src/models/energy/scorer.ts';
import { isotonic } from '../numeric/metrics.ts';
import type { Judged } from './folds.ts';
import { onePerProblem } from './problems.ts';

/** Most knots of a curve: as many as `/v1/info` reports, so that its report is complete. */
const mostKnots = 21;

/** An act with the probability of a curve that never saw its problem. */
export interface Believed extends Judged {
  readonly p: number;
}

/** Nothing is certain: bounds as with some hundred cases. */
const certain = (p: number): number => Number(Math.max(0.001, Math.min(0.999, p)).toFixed(4));

/** Isotonic map of energy to probability; of more knots than may be reported each keeps the place of its share. */
export function curveOf(judged: readonly Judged[]): Calibration {
  const { energies, probabilities } = isotonic(judged.map(({ energy, act }) => ({ score: energy, right: act.good })));
  const count = Math.min(mostKnots, energies.length);
  const at = Array.from({ length: count }, (_, step) => Math.round((step * (energies.length - 1)) / Math.max(1, count - 1)));
  const rounded = at.map((place) => [Number((energies[place] as number).toFixed(6)), certain(probabilities[place] as number)] as const);
  return { energies: rounded.map(([energy]) => energy), probabilities: rounded.map(([, p]) => p) };
}

/** Probabilities of all acts, each by a curve that was fitted without its fold. */
export function crossProbabilities(judged: readonly Judged[]): readonly Believed[] {
  return [...new Set(judged.map(({ fold }) => fold))].flatMap((fold) => {
    const curve = curveOf(onePerProblem(judged.filter((one) => one.fold !== fold)));
    return judged.filter((one) => one.fold === fold).map((one) => ({ ...one, p: probability(curve, one.energy) }));
  });
}

/** AUC, ECE and Brier score with 95 % intervals that draw whole problems. */
export interface Worth {
  readonly samples: number;
  readonly auc: Interval;
  readonly ece: Interval;
  readonly brier: Interval;
}

export function worthOf(believed: readonly Believed[], seed: number): Worth {
  const scored = (score: (one: Believed) => number): Scored[] =>
    believed.map((one) => ({ score: score(one), right: one.act.good, problem: one.act.problem }));
  const interval = (items: readonly Scored[], measure: (some: readonly Scored[]) => number): Interval =>
    scoredInterval(items, measure, { random: seeded(seed), resamples: 1000 });
  return {
    samples: believed.length,
    auc: interval(
      scored(({ energy }) => -energy),
      auc,
    ),
    ece: interval(
      scored(({ p }) => p),
      ece,
    ),
    brier: interval(
      scored(({ p }) => p),
      brier,
    ),
  };
}
