import type { LabelledAct } from './data.ts';
import { foldOf } from './folds.ts';
import type { Example } from '../dataset/example.ts';

/** Labelled acts as examples; the fold that is held out first stands for all. Nothing of them is ever run, so there are no replays. */
export function examplesOfActs(acts: readonly LabelledAct[], seed: number): readonly Example[] {
  const folds = foldOf(acts, seed);
  const names = new Map([
    [0, 'heldOut'],
    [1, 'calibration'],
  ] as const);
  return acts.map(({ id, problem, head, text, features, good }) => {
    const split = names.get((folds.get(problem) ?? 2) as 0 | 1) ?? 'train';
    return { id, problem, split, head, stratum: good ? 'Pass' : 'PolicyViolating', text, operator: 'act', features, replays: [] };
  });
}
