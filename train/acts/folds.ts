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

export const authorsOf = (acts: readonly LabelledAct[]): readonly string[] =>
  [...new Set(acts.flatMap(({ author }) => author ?? []))].sort();

/** Fold of each problem: one for each author of packs; of what has none every source, head and class has its share in each. */
export function foldOf(acts: readonly LabelledAct[], seed: number): ReadonlyMap<string, number> {
  const random = new Random(seed);
  // Acts of one problem may be of several heads: the first decides, so that they share a fold.
  const first = [...new Map(acts.toReversed().map((act) => [act.problem, act])).values()];
  const authors = authorsOf(acts);
  const count = Math.max(foldCount, authors.length);
  const byAuthor = first.flatMap(({ problem, author }) => (author === undefined ? [] : [[problem, authors.indexOf(author)] as const]));
  const others = first.filter(({ author }) => author === undefined);
  const kinds = Map.groupBy(others, ({ source, head, label }) => `${source} ${head} ${label}`);
  const spread = [...kinds.values()].flatMap((some) => {
    const problems = random.shuffle(some.map(({ problem }) => problem));
    return problems.map((problem, at) => [problem, at % count] as const);
  });
  return new Map([...byAuthor, ...spread]);
}

/** Energy of an act by a word model; `dense`: whether it is given the features. */
export function energyOf(model: WordModel, act: LabelledAct, dense = true): number {
  return wordEnergy(model, tableOf(model), act.text, dense ? act.features : {});
}

/** Energies of all acts, each by a model that was fitted without its problem, and those of packs without all acts of their author. */
export function crossEnergies(acts: readonly LabelledAct[], options: ActFit, seed: number): readonly Judged[] {
  const folds = foldOf(acts, seed);
  return [...new Set(folds.values())]
    .sort((a, b) => a - b)
    .flatMap((fold) => {
      const rest = acts.filter(({ problem }) => folds.get(problem) !== fold);
      const model = fitActs(rest, options, new Random(seed + 1 + fold));
      const own = acts.filter(({ problem }) => folds.get(problem) === fold);
      return own.map((act) => ({ act, fold, energy: energyOf(model, act, options.dense) }));
    });
}
