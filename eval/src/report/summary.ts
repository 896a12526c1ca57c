/** Results as numbers, for tables, plots and comparisons. */
import { Type, type Static } from 'typebox';
import type { Read } from '../format/index.ts';
import { keyOf, solved, type EvalRecord, type ResultsHead } from '../run/results.ts';
import { bootstrap, mcNemar, mean, pairedDifference, quantile, seeded, wilson, type Scored } from '../stats/index.ts';

const exactly = { additionalProperties: false } as const;
const text = Type.String();
const count = Type.Integer({ minimum: 0 });
/** NaN is written as JSON's null. */
const known = Type.Unsafe<number>({ type: ['number', 'null'] });
const bounds = { value: known, low: known, high: known };
const interval = Type.Object(bounds, exactly);

/** One pack under one variant. */
const Group = Type.Object(
  {
    pack: text,
    variant: text,
    attempts: count,
    /** Attempts that pool or machine failed: they count as not solved and are reported. */
    errors: count,
    solved: interval,
    /** The visible check passed and the hidden one did not: an answer that only looks right. */
    overfit: count,
    /** Candidates until the task was solved, of those that were. */
    tries: Type.Object({ mean: interval, median: known, p90: known }, exactly),
    seconds: Type.Object({ median: known, p95: known }, exactly),
    cpuSeconds: known,
    tokens: count,
    vetoes: count,
    backtracks: count,
  },
  exactly,
);
export type Group = Read<Static<typeof Group>>;

/** Two sets of attempts at the same tasks. */
const Comparison = Type.Object(
  {
    first: text,
    second: text,
    pairs: count,
    solved: Type.Object({ onlyFirst: count, onlySecond: count, p: Type.Number({ minimum: 0, maximum: 1 }) }, exactly),
    /** Second less first, share of tasks. */
    difference: interval,
    /** For tasks that both solved: candidates of the second less those of the first. */
    tries: Type.Object({ ...bounds, pairs: count, fewer: count, more: count }, exactly),
  },
  exactly,
);
export type Comparison = Read<Static<typeof Comparison>>;

/** Attempts that were repeated with the same seed; `share` of the pairs differ in being solved. */
const Flakes = Type.Object({ pairs: count, share: interval, tasks: Type.Array(text) }, exactly);
export type Flakes = Read<Static<typeof Flakes>>;

export const reportFormat = 'agentfleet.dev/eval-report/v1';
const digests = Type.Unsafe<ResultsHead['packs']>({ type: 'object', additionalProperties: { type: 'string', pattern: '^sha256:' } });

/** JSON Schema of the report as it is written: all numbers of a run; unknown ones are null. */
export const reportSchema = Type.Object(
  {
    format: Type.Literal(reportFormat),
    head: Type.Object(
      { format: Type.Unsafe<ResultsHead['format']>(text), pool: text, seed: count, packs: digests, variants: digests },
      exactly,
    ),
    groups: Type.Array(Group),
    comparisons: Type.Array(Comparison),
    flakes: Flakes,
  },
  exactly,
);
export type EvalReport = Read<Static<typeof reportSchema>>;

/** Draws of intervals are the same for the same results. */
const drawSeed = 1;

function groupOf(pack: string, variant: string, records: readonly EvalRecord[]): Group {
  const right = records.filter(solved);
  const tries = right.map(({ usage }) => usage.candidates);
  const seconds = records.map(({ wallSeconds }) => wallSeconds);
  const sum = (of: (record: EvalRecord) => number): number => records.reduce((total, record) => total + of(record), 0);
  return {
    pack,
    variant,
    attempts: records.length,
    errors: records.filter(({ result }) => result === 'Error').length,
    solved: wilson(right.length, records.length),
    overfit: records.filter(({ result, hidden }) => result === 'Succeeded' && hidden === 'Failed').length,
    tries: { mean: bootstrap(tries, mean, { random: seeded(drawSeed) }), median: quantile(tries, 0.5), p90: quantile(tries, 0.9) },
    seconds: { median: quantile(seconds, 0.5), p95: quantile(seconds, 0.95) },
    cpuSeconds: sum(({ usage }) => usage.cpuMillis) / 1000,
    tokens: sum(({ usage }) => usage.tokensIn + usage.tokensOut),
    vetoes: sum(({ usage }) => usage.vetoes),
    backtracks: sum(({ usage }) => usage.backtracks),
  };
}

/** One outcome of each task, variant and seed: rounds of one seed are no independent evidence, and show flakes alone. */
export const firstRound = (records: readonly EvalRecord[]): readonly EvalRecord[] => records.filter(({ round }) => round === 1);

/** Groups the first round by pack, then by variant, in order of appearance. */
export function groupsOf(records: readonly EvalRecord[]): readonly Group[] {
  const groups = Map.groupBy(firstRound(records), ({ pack, variant }) => JSON.stringify([pack, variant]));
  return [...groups].map(([key, some]) => {
    const [pack, variant] = JSON.parse(key) as [string, string];
    return groupOf(pack, variant, some);
  });
}

/** Pairs attempts of the first round by task and seed. Attempts missing in one, or failed by pool or machine, are left out of both. */
export function compareRecords(first: readonly EvalRecord[], second: readonly EvalRecord[], names: readonly [string, string]): Comparison {
  const other = new Map(second.map((record) => [keyOf({ ...record, variant: '' }), record]));
  const pairs = firstRound(first).flatMap((one): [EvalRecord, EvalRecord][] => {
    const found = other.get(keyOf({ ...one, variant: '' }));
    return found === undefined || one.result === 'Error' || found.result === 'Error' ? [] : [[one, found]];
  });
  const outcomes = pairs.map(([one, two]): [boolean, boolean] => [solved(one), solved(two)]);
  const both = pairs.filter(([one, two]) => solved(one) && solved(two));
  const tries = both.map(([one, two]): [number, number] => [one.usage.candidates, two.usage.candidates]);
  const random = seeded(drawSeed);
  return {
    first: names[0],
    second: names[1],
    pairs: pairs.length,
    solved: mcNemar(outcomes),
    difference: pairedDifference(
      outcomes.map(([one, two]) => [Number(one), Number(two)] as const),
      { random },
    ),
    tries: {
      ...pairedDifference(tries, { random }),
      pairs: tries.length,
      fewer: tries.filter(([one, two]) => two < one).length,
      more: tries.filter(([one, two]) => two > one).length,
    },
  };
}

/** Every variant against the first one. */
export function comparisonsOf(records: readonly EvalRecord[]): readonly Comparison[] {
  const variants = [...Map.groupBy(records, ({ variant }) => variant)];
  const [base, ...rest] = variants;
  return base === undefined ? [] : rest.map(([name, some]) => compareRecords(base[1], some, [base[0], name]));
}

/** The share of flaking attempts that is put up with. */
export const flakeBudget = 0.02;

/** Compares the first round with later ones of the same task, variant and seed. */
export function flakesOf(records: readonly EvalRecord[]): Flakes {
  const same = Map.groupBy(records, (record) => keyOf({ ...record, round: 1 }));
  const all = [...same.values()].flatMap(([one, ...others]) => others.map((other) => [one as EvalRecord, other] as const));
  // Two attempts that the machine failed agree about nothing.
  const pairs = all.filter(([one, other]) => one.result !== 'Error' || other.result !== 'Error');
  const differ = pairs.filter(([one, other]) => solved(one) !== solved(other) || one.result !== other.result);
  return { pairs: pairs.length, share: wilson(differ.length, pairs.length), tasks: [...new Set(differ.map(([one]) => one.task))] };
}

/** Returns the prediction for every tried candidate of the first round, and whether it helped: the input of a reliability diagram. */
export function saidOf(records: readonly EvalRecord[]): readonly Scored[] {
  const helped = new Set(['Better', 'Reached']);
  return firstRound(records).flatMap(({ task, tried }) =>
    tried.flatMap(({ pSuccess, result }) => (pSuccess === null ? [] : [{ score: pSuccess, right: helped.has(result), problem: task }])),
  );
}
