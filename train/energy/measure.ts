import type { EnergyScorer, EnergyWeights } from '../../inference-image/src/models/energy/scorer.ts';
import { contentEnergy, executedEnergy } from '../../inference-image/src/models/energy/scorer.ts';
import type { EnergyHeadFile } from '../../inference-image/src/models/energy/file.ts';
import { auc, brier, mean, type Scored } from '@agentfleet/protocol/stats';
import { calibrationError, certain, isotonic } from '../numeric/metrics.ts';
import { unexecuted, type Group, type Item } from './items.ts';

/** The weights of a fleet that sets none; energies are fitted and calibrated under them. */
export const defaultWeights: EnergyWeights = { lambda: 1, heads: { Code: 0.7, Shell: 1.2, Editor: 0.6 } };

type Head = Omit<EnergyHeadFile, 'calibration' | 'about'>;

/** Maps of energy to probability, fitted on problems of their own. */
export function calibrate(head: Head, groups: readonly Group[]): EnergyHeadFile['calibration'] {
  const whole = { ...head, calibration: { before: null, after: null }, about: '' };
  const items = groups.flatMap((group) => group.items);
  const curve = (energyOf: (item: Item) => number): { readonly energies: number[]; readonly probabilities: number[] } => {
    const { energies, probabilities } = isotonic(items.map((one) => ({ score: energyOf(one), right: one.right })));
    return { energies: energies.map((energy) => Number(energy.toFixed(6))), probabilities: probabilities.map(certain) };
  };
  const content = ({ item }: Item): number => head.lambdas.lambda * contentEnergy(whole, item);
  return { before: curve(content), after: curve((one) => content(one) + head.lambdas.head * executedEnergy(whole, one.item.features)) };
}

export type EnergyFigures = Readonly<Record<string, number>>;

/** Scores an act as before it is run. */
export const scoreBefore = (scorer: EnergyScorer, { item }: Item): ReturnType<EnergyScorer['score']> =>
  scorer.score({ ...item, features: unexecuted(item.features) }, defaultWeights);

/** Measures the weights on problems that they never saw. */
export function measureEnergy(scorer: EnergyScorer, groups: readonly Group[]): EnergyFigures {
  const items = groups.flatMap((group) => group.items);
  const after = items.map(({ item }) => scorer.score(item, defaultWeights));
  const early = items.map((one) => scoreBefore(scorer, one));
  const scored = (of: (at: number) => number, keep: (one: Item) => boolean = () => true): Scored[] =>
    items.flatMap((one, at) => (keep(one) ? [{ score: of(at), right: one.right }] : []));
  const whole = (at: number): number => after[at]?.energy ?? 0;
  const content = (at: number): number => -(after[at]?.model ?? 0);
  const features = (at: number): number => -(after[at]?.features ?? 0);
  const both = (at: number): number => -whole(at);
  const isPlausible = ({ plausible }: Item): boolean => plausible;
  const said = (at: number): number => early[at]?.pSuccess ?? 0;
  const sigmoid = (x: number): number => 1 / (1 + Math.exp(x));
  return {
    candidates: items.length,
    right: items.filter(({ right }) => right).length,
    aucContent: auc(scored(content)),
    aucFeatures: auc(scored(features)),
    aucBoth: auc(scored(both)),
    aucShareOfExpert: auc(scored((at) => items[at]?.item.features.proposalShare ?? 0)),
    aucContentAmongPlausible: auc(scored(content, isPlausible)),
    aucFeaturesAmongPlausible: auc(scored(features, isPlausible)),
    aucBothAmongPlausible: auc(scored(both, isPlausible)),
    eceBeforeActUncalibrated: calibrationError(scored((at) => sigmoid(early[at]?.energy ?? 0))),
    eceBeforeActCalibrated: calibrationError(scored(said)),
    brierBeforeActCalibrated: brier(scored(said)),
    eceAfterActUncalibrated: calibrationError(scored((at) => sigmoid(whole(at)))),
    eceAfterActCalibrated: calibrationError(scored((at) => after[at]?.pSuccess ?? 0)),
    ...rerank(scorer, groups),
  };
}

/** Tries until the first right candidate, in the expert's order and by the energy before the act; pairs of the same states. */
function rerank(scorer: EnergyScorer, groups: readonly Group[]): EnergyFigures {
  const pairs = groups
    .filter(({ items, depth }) => depth === 0 && items.some(({ right }) => right))
    .map(({ items }) => {
      const energies = new Map(items.map((one) => [one, scoreBefore(scorer, one).energy]));
      const order = (list: readonly Item[]): Item[] => list.toSorted((a, b) => (energies.get(a) ?? 0) - (energies.get(b) ?? 0));
      const rounds = items.flatMap((_, at) => (at % 8 === 0 ? order(items.slice(at, at + 8)) : []));
      const first = (list: readonly Item[]): number => list.findIndex(({ right }) => right) + 1;
      return { own: first(items), reranked: first(order(items)), rounds: first(rounds) };
    });
  return {
    rerankStates: pairs.length,
    triesOwnOrder: mean(pairs.map(({ own }) => own)),
    triesByEnergy: mean(pairs.map(({ reranked }) => reranked)),
    triesByEnergyInRoundsOf8: mean(pairs.map(({ rounds }) => rounds)),
    statesWithFewerTries: pairs.filter(({ own, reranked }) => reranked < own).length,
    statesWithMoreTries: pairs.filter(({ own, reranked }) => reranked > own).length,
    top1OwnOrder: mean(pairs.map(({ own }) => (own === 1 ? 1 : 0))),
    top1ByEnergy: mean(pairs.map(({ reranked }) => (reranked === 1 ? 1 : 0))),
  };
}
