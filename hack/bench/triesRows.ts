// hack, bench: rows of the report about a worker's tries. May import any package.
import { mean } from '@agentfleet/protocol/stats';
import type { Repair } from './repairs.ts';
import type { Row } from './report/table.ts';

/** Place of the first right one in an order, from 1; undefined when there is none. */
export function triesIn(order: readonly boolean[]): number | undefined {
  const at = order.indexOf(true);
  return at === -1 ? undefined : at + 1;
}

/** The same for an order by chance: the mean over all orders, (n + 1) ⁄ (right + 1). */
export function triesByChance(order: readonly boolean[]): number | undefined {
  const right = order.filter(Boolean).length;
  return right === 0 ? undefined : (order.length + 1) / (right + 1);
}

/** Orders each run of `size` by itself, as a worker does that compares no more at once. */
export function inRounds<T>(all: readonly T[], size: number, order: (some: readonly T[]) => readonly T[]): readonly T[] {
  return all.flatMap((_, at) => (at % size === 0 ? order(all.slice(at, at + size)) : []));
}

/** Most proposals that a worker compares at once when a profile sets no number. */
export const roundSize = 8;

/** A bug and the energies of its proposals, by id. */
export interface RankedRepair {
  readonly repair: Repair;
  readonly energies: ReadonlyMap<string, number>;
}

interface Tries {
  readonly expert: number;
  readonly chance: number;
  readonly energy: number;
  readonly rounds: number;
}

/** Proposals that are tried until one passes all tests, in four orders of the same proposals; bug by bug. */
export function triesRows(language: string, all: readonly RankedRepair[]): readonly Row[] {
  const bugs = all.filter(({ repair }) => repair.language === language);
  const pairs = bugs.flatMap((bug) => triesOf(bug) ?? []);
  const row = (order: string, ours: keyof Tries, peer: keyof Tries, name: string, note?: string): Row => ({
    measure: `proposals until one passes, ${language}: ${order}`,
    ours: mean(pairs.map((one) => one[ours])),
    unit: 'tries',
    peer: { name, value: mean(pairs.map((one) => one[peer])) },
    note: note ?? compared(pairs, ours, peer),
  });
  const which = `${pairs.length} of ${bugs.length} held-out bugs: those that one of the first 64 proposals repairs`;
  return [
    row("Synth's order", 'expert', 'chance', 'by chance', which),
    row('all by energy', 'energy', 'expert', "Synth's order"),
    row(`rounds of ${roundSize} by energy`, 'rounds', 'expert', "Synth's order"),
  ];
}

function triesOf({ repair, energies }: RankedRepair): Tries | undefined {
  const right = new Map(repair.candidates.map(({ id }, at) => [id, repair.passed[at] === true]));
  const byEnergy = (some: readonly string[]): readonly string[] => some.toSorted((a, b) => (energies.get(a) ?? 0) - (energies.get(b) ?? 0));
  const ids = repair.candidates.map(({ id }) => id);
  const passes = (order: readonly string[]): readonly boolean[] => order.map((id) => right.get(id) === true);
  const [expert, chance] = [triesIn(repair.passed), triesByChance(repair.passed)];
  const [energy, rounds] = [triesIn(passes(byEnergy(ids))), triesIn(passes(inRounds(ids, roundSize, byEnergy)))];
  if (expert === undefined || chance === undefined || energy === undefined || rounds === undefined) return undefined;
  return { expert, chance, energy, rounds };
}

function compared(pairs: readonly Tries[], ours: keyof Tries, peer: keyof Tries): string {
  const count = (sign: number): number => pairs.filter((one) => Math.sign(one[ours] - one[peer]) === sign).length;
  return `fewer for ${count(-1)}, as many for ${count(0)}, more for ${count(1)}`;
}
