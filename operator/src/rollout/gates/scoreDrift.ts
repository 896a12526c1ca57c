import { binnedIndex } from '../statistics/index.ts';
import type { ArmEvidence, Bounded, Finding, GateResult } from './gate.ts';
import { boundariesOf, lookAt } from './look.ts';

/** The chance to find a drift where there is none, over all looks: a half for copies, a half for tasks. */
const driftAlpha = 0.01;
const boundaries = boundariesOf(driftAlpha / 2);

const sum = (bins: readonly number[]): number => bins.reduce((total, count) => total + count, 0);

/**
 * Judges whether the canary gives probabilities as the stable revision does. Tasks that each arm worked on count as soon as there
 * are enough; until then the copies of its shadow do, of which both judged the same acts. Pure.
 * @param previous last result of this same rule
 */
export function scoreDriftFinding(
  canary: ArmEvidence,
  stable: ArmEvidence,
  { bound: max, minSamples }: Bounded,
  previous?: GateResult,
): Finding {
  const needed = Math.max(1, minSamples);
  const own = { canary: canary.scores, stable: stable.scores, what: 'tasks of each revision' };
  const copied = { canary: canary.shadow?.scores.shadow ?? [], stable: canary.shadow?.scores.stable ?? [], what: 'copied acts' };
  const fewest = (of: typeof own): number => Math.min(sum(of.canary), sum(of.stable));
  const used = fewest(own) >= needed || fewest(copied) < needed ? own : copied;
  const samples = fewest(used);
  if (samples < needed) {
    const message = `${samples} of ${needed} tasks of each revision with a calibrated probability so far, and ${fewest(copied)} copied acts`;
    return { verdict: 'InsufficientData', samples, message };
  }
  // Tasks are other samples than copies: their looks begin anew.
  const before = previous?.message.includes(` ${used.what},`) === true ? previous : undefined;
  const { look, z, words } = lookAt(samples, minSamples, before, boundaries);
  const found = binnedIndex(used.stable, used.canary, z);
  if (found === undefined)
    return {
      verdict: 'InsufficientData',
      samples,
      message: 'counts of probabilities are in other bins: update the operator and the workers',
    };
  const { value, chance } = found;
  const verdict = value <= max ? 'Pass' : value > chance ? 'Fail' : 'Inconclusive';
  const message = `index ${value.toFixed(3)} over ${samples} ${used.what}, and may be ${max}; up to ${chance.toFixed(3)} may be chance; ${words}`;
  return { verdict, value, samples, look, message };
}
