import { auc, bootstrap, ece, mean, pairedDifference, scoredInterval, seeded, type Interval, type Scored } from '@agentfleet/eval/stats';
import type { EnergyScorer } from '../../inference-image/src/models/energy/scorer.ts';
import type { Group, Item } from '../energy/items.ts';
import { defaultWeights, scoreBefore } from '../energy/measure.ts';

const resamples = 500;

/** Worth of a part of the energy on problems that the training never saw. */
interface PartFigures {
  readonly auc: Interval;
  readonly ece: Interval | null;
}

export interface Tries {
  readonly tries: Interval;
  readonly spared: Interval;
}

export interface CodeFigures {
  readonly items: number;
  readonly right: number;
  readonly problems: number;
  readonly parts: Readonly<Record<string, PartFigures>>;
  /** Tries until the right one, mean over states; what the energy spares is negative, paired by state. */
  readonly tries: {
    readonly states: number;
    readonly own: Interval;
    readonly all: Tries;
    readonly rounds: readonly ({ readonly size: number } & Tries)[];
  };
  /** Milliseconds for the energies of eight proposals in one process. */
  readonly millisOf8: { readonly p50: number; readonly p95: number };
}

interface Judged {
  readonly problem: string;
  readonly one: Item;
  readonly early: ReturnType<EnergyScorer['score']>;
  readonly late: ReturnType<EnergyScorer['score']>;
}

function partsOf(all: readonly Judged[], seed: number): CodeFigures['parts'] {
  const worth = (score: (one: Judged) => number, measure: typeof auc): Interval => {
    const items = all.map((judged): Scored => ({ score: score(judged), right: judged.one.right, problem: judged.problem }));
    return scoredInterval(items, measure, { random: seeded(seed), resamples });
  };
  const part = (energy: (one: Judged) => number, p?: (one: Judged) => number): PartFigures => ({
    auc: worth((one) => -energy(one), auc),
    ece: p === undefined ? null : worth(p, ece),
  });
  return {
    'content, before the act': part(
      ({ early }) => early.energy,
      ({ early }) => early.pSuccess ?? 0,
    ),
    'features, visible tests': part(({ late }) => late.features),
    'both, visible tests': part(
      ({ late }) => late.energy,
      ({ late }) => late.pSuccess ?? 0,
    ),
  };
}

/** Candidates of one round: what a profile compares by default, what it may compare, and more. */
const roundSizes = [2, 8, 16] as const;

function triesOf(groups: readonly Group[], energyOf: (one: Item) => number, seed: number): CodeFigures['tries'] {
  const states = groups.filter(({ depth, items }) => depth === 0 && items.some(({ right }) => right));
  const order = (items: readonly Item[]): Item[] => items.toSorted((a, b) => energyOf(a) - energyOf(b));
  const first = (items: readonly Item[]): number => items.findIndex(({ right }) => right) + 1;
  const inRounds = (items: readonly Item[], size: number): Item[] =>
    items.flatMap((_, at) => (at % size === 0 ? order(items.slice(at, at + size)) : []));
  const options = { random: seeded(seed), resamples };
  const own = states.map(({ items }) => first(items));
  const worth = (ordered: (items: readonly Item[]) => Item[]): Tries => {
    const tries = states.map(({ items }) => first(ordered(items)));
    const pairs = tries.map((one, at) => [own[at] ?? 0, one] as const);
    return { tries: bootstrap(tries, mean, options), spared: pairedDifference(pairs, options) };
  };
  return {
    states: states.length,
    own: bootstrap(own, mean, options),
    all: worth(order),
    rounds: roundSizes.map((size) => ({ size, ...worth((items) => inRounds(items, size)) })),
  };
}

function latency(scorer: EnergyScorer, items: readonly Item[], now: () => number): CodeFigures['millisOf8'] {
  const times: number[] = [];
  for (let at = 0; at + 8 <= items.length && times.length < 600; at += 8) {
    const began = now();
    for (const { item } of items.slice(at, at + 8)) scorer.score(item, defaultWeights);
    times.push(now() - began);
  }
  // The first ones warm up.
  const sorted = times.slice(50).sort((a, b) => a - b);
  const at = (share: number): number => Number((sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(3));
  return { p50: at(0.5), p95: at(0.95) };
}

/** Measures the worth of the Code head on held-out problems, with intervals that draw whole problems. */
export function codeFigures(scorer: EnergyScorer, groups: readonly Group[], seed: number, now: () => number): CodeFigures {
  const all = groups.flatMap(({ problem, items }) =>
    items.map((one): Judged => ({ problem, one, early: scoreBefore(scorer, one), late: scorer.score(one.item, defaultWeights) })),
  );
  const energies = new Map(all.map(({ one, early }) => [one, early.energy]));
  return {
    items: all.length,
    right: all.filter(({ one }) => one.right).length,
    problems: new Set(all.map(({ problem }) => problem)).size,
    parts: partsOf(all, seed),
    tries: triesOf(groups, (one) => energies.get(one) ?? 0, seed),
    millisOf8: latency(
      scorer,
      all.map(({ one }) => one),
      now,
    ),
  };
}
