import { tableOf, wordEnergy, type WordModel } from '../../inference-image/src/models/energy/file.ts';
import { Random } from '../numeric/random.ts';
import { foldCount, type LabelledAct } from './data.ts';
import { fitActs, type ActFit } from './fit.ts';

/** An act with the energy of a model that never saw its problem. */
export interface Judged {
  readonly act: LabelledAct;
  readonly fold: number;
  readonly energy: number;
}

/** Fold of each problem: of every source, head and class its share in each. */
export function foldOf(acts: readonly LabelledAct[], seed: number): ReadonlyMap<string, number> {
  const random = new Random(seed);
  // Acts of one problem may be of several heads: the first decides, so that they share a fold.
  const first = [...new Map(acts.toReversed().map((act) => [act.problem, act])).values()];
  const kinds = Map.groupBy(first, ({ source, head, label }) => `${source} ${head} ${label}`);
  return new Map(
    [...kinds.values()].flatMap((some) => {
      const problems = random.shuffle(some.map(({ problem }) => problem));
      return problems.map((problem, at) => [problem, at % foldCount] as const);
    }),
  );
}

/** Energy of an act by a word model; `dense`: whether it is given the features. */
export function energyOf(model: WordModel, act: LabelledAct, dense = true): number {
  return wordEnergy(model, tableOf(model), act.text, dense ? act.features : {});
}

/** Energies of all acts, each by a model that was fitted without its problem. */
export function crossEnergies(acts: readonly LabelledAct[], options: ActFit, seed: number): readonly Judged[] {
  const folds = foldOf(acts, seed);
  return Array.from({ length: foldCount }, (_, fold) => fold).flatMap((fold) => {
    const rest = acts.filter(({ problem }) => folds.get(problem) !== fold);
    const model = fitActs(rest, options, new Random(seed + 1 + fold));
    const own = acts.filter(({ problem }) => folds.get(problem) === fold);
    return own.map((act) => ({ act, fold, energy: energyOf(model, act, options.dense) }));
  });
}
