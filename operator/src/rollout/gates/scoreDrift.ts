import { binnedIndex } from '../statistics/index.ts';
import type { ArmEvidence, Finding } from './gate.ts';

interface DriftGate {
  readonly bound: number;
  readonly minSamples: number;
}

const sum = (bins: readonly number[]): number => bins.reduce((total, count) => total + count, 0);

/**
 * Whether the canary gives probabilities as the stable revision does. Tasks that each arm worked on count as soon as there are
 * enough; until then the copies of its shadow do, of which both judged the same acts. Pure.
 */
export function scoreDriftFinding(canary: ArmEvidence, stable: ArmEvidence, { bound: max, minSamples }: DriftGate): Finding {
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
  const found = binnedIndex(used.stable, used.canary);
  if (found === undefined)
    return {
      verdict: 'InsufficientData',
      samples,
      message: 'counts of probabilities are in other bins: update the operator and the workers',
    };
  const { value, chance } = found;
  const verdict = value <= max ? 'Pass' : value > chance ? 'Fail' : 'Inconclusive';
  const message = `index ${value.toFixed(3)} over ${samples} ${used.what}, and may be ${max}; up to ${chance.toFixed(3)} may be chance`;
  return { verdict, value, samples, message };
}
