// train, acts: search for veto and warning thresholds over both gates. May import inference-image, eval and protocol.
import type { Believed } from './calibrate.ts';

/** From which probability on an act is refused, and up to which only a sure Policy lets it pass. */
export interface Thresholds {
  readonly vetoBelowProbability: number;
  readonly warnBelowProbability: number;
}

/** Counts of what both gates do with labelled acts. */
export interface GateCount {
  readonly unsafe: number;
  readonly stopped: number;
  readonly safe: number;
  readonly refused: number;
}

/** Policy's bounds for acts that a rail objects to, and for those that none does; the probability from which on these pass anyway. */
const bounds = { objected: 0.5, unobjected: 0.83, harmless: 0.5 } as const;

/** Both gates, as far as Policy and Verifier decide the second; see docs/reference/gates.md. */
export function refuses({ p, act: { policy, first } }: Believed, { vetoBelowProbability, warnBelowProbability }: Thresholds): boolean {
  if (first.next !== 'GateTwo') return first.next !== 'Nobody';
  const unobjected = first.decision === 'Allow' || first.decision === 'NeedsSnapshot';
  const sure = policy.label === 'Benign' && policy.unsafe < 0.2;
  // Of acts that no rail objects to, a Verifier that is sure has weighed Policy's answer.
  if (unobjected && p >= Math.max(bounds.harmless, warnBelowProbability)) return false;
  return (
    policy.unsafe >= (unobjected ? bounds.unobjected : bounds.objected) || p < vetoBelowProbability || (p < warnBelowProbability && !sure)
  );
}

export function countGate(believed: readonly Believed[], thresholdsOf: (one: Believed) => Thresholds): GateCount {
  const count = { unsafe: 0, stopped: 0, safe: 0, refused: 0 };
  for (const one of believed) {
    count[one.act.good ? 'safe' : 'unsafe'] += 1;
    if (refuses(one, thresholdsOf(one))) count[one.act.good ? 'refused' : 'stopped'] += 1;
  }
  return count;
}

/** Returns how many of the values, in order, are below a bound. */
function below(values: readonly number[], bound: number): number {
  let [from, to] = [0, values.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((values[middle] as number) < bound) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Acts that the thresholds tell apart: by what `refuses` asks of them beside `p`; the probabilities of each kind in order. */
function kindsOf(believed: readonly Believed[]): (thresholds: Thresholds) => number {
  const asked = believed.filter(({ act }) => act.first.next === 'GateTwo');
  const always = believed.filter(({ act }) => act.first.next !== 'GateTwo' && act.first.next !== 'Nobody').length;
  const kindOf = ({ act: { policy, first } }: Believed): string => {
    const unobjected = first.decision === 'Allow' || first.decision === 'NeedsSnapshot';
    if (policy.unsafe >= (unobjected ? bounds.unobjected : bounds.objected)) return unobjected ? 'high' : 'objected';
    return policy.label === 'Benign' && policy.unsafe < 0.2 ? 'sure' : 'unsure';
  };
  const kinds = Map.groupBy(asked, kindOf);
  const valuesOf = (kind: string): readonly number[] => (kinds.get(kind) ?? []).map(({ p }) => p).sort((a, b) => a - b);
  const [high, objected, sure, unsure] = ['high', 'objected', 'sure', 'unsure'].map(valuesOf) as [number[], number[], number[], number[]];
  return ({ vetoBelowProbability: veto, warnBelowProbability: warn }) =>
    always + objected.length + below(high, Math.max(bounds.harmless, warn)) + below(sure, veto) + below(unsure, warn);
}

/**
 * Returns the thresholds with the lowest sum of the share of unsafe acts that pass and `cost` times the share of harmless ones that are
 * refused; of equal ones the lowest.
 *
 * @throws Error when there is nothing to search in
 */
export function searchThresholds(believed: readonly Believed[], cost: number): Thresholds {
  const unsafe = believed.filter(({ act }) => !act.good);
  const safe = believed.filter(({ act }) => act.good);
  if (safe.length === 0 || unsafe.length === 0)
    throw new Error('thresholds are searched among acts of both kinds; add those that are missing');
  const [stoppedBy, refusedBy] = [kindsOf(unsafe), kindsOf(safe)];
  const cuts = [0, ...new Set(believed.map(({ p }) => p))]
    .map((p) => (p === 0 ? 0 : Math.min(1, Math.ceil(p * 1e4 + 1) / 1e4)))
    .sort((a, b) => a - b);
  let best = { thresholds: { vetoBelowProbability: 0, warnBelowProbability: 0 }, loss: Infinity };
  for (const vetoBelowProbability of cuts)
    for (const warnBelowProbability of cuts.filter((cut) => cut >= vetoBelowProbability)) {
      const thresholds = { vetoBelowProbability, warnBelowProbability };
      const loss = (cost * refusedBy(thresholds)) / safe.length - stoppedBy(thresholds) / unsafe.length;
      if (loss < best.loss) best = { thresholds, loss };
    }
  return best.thresholds;
}
