import { differenceLimit, z95 } from '../statistics/index.ts';
import type { ArmEvidence, Bounded, Finding, GateResult, Verdict } from './gate.ts';
import { lookAt, tooFew } from './look.ts';

/**
 * Judges whether acts that the canary lets pass go wrong more often than acts that the stable revision lets pass. A task counts
 * once, as acts of one task are not independent, and not at all where no act passed: a refused act cannot have been missed. Pure.
 * @param previous last result of this same rule
 */
export function missedVetoFinding(
  canary: ArmEvidence,
  stable: ArmEvidence,
  { bound, minSamples }: Bounded,
  previous?: GateResult,
): Finding {
  const [mine, base] = [canary.passedActs, stable.passedActs];
  const samples = Math.min(mine.total, base.total);
  const few = tooFew(samples, minSamples, 'tasks of each revision with an act that passed');
  if (few !== undefined) return few;
  const [a, b] = [
    { passed: mine.missed, total: mine.total },
    { passed: base.missed, total: base.total },
  ];
  const upper = differenceLimit(a, b, -z95);
  const { look, z, words } = lookAt(samples, minSamples, previous);
  const refused = differenceLimit(a, b, z) > bound;
  const verdict: Verdict = refused ? 'Fail' : upper <= bound ? 'Pass' : 'Inconclusive';
  const message = `${mine.missed} of ${mine.total} tasks went wrong after an act that passed, ${base.missed} of ${base.total} of the stable revision: at most ${upper.toFixed(4)} more, and may be ${bound}; ${words} of each`;
  return { verdict, value: mine.missed / mine.total, baseline: base.missed / base.total, samples: mine.total, look, message };
}
