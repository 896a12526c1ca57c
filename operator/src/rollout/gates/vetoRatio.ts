import { differenceLimit, z95 } from '../statistics/index.ts';
import type { ArmEvidence, Bounded, Finding, GateResult, Verdict } from './gate.ts';
import { lookAt, tooFew } from './look.ts';

/**
 * Judges whether the canary is vetoed more than `bound` times as often as the stable revision. One that is vetoed as seldom as the stable
 * revision passes a bound of 1 or more: to distinguish a tenth more from as many takes more acts than rollouts have. Pure.
 * @param previous last result of this same rule
 */
export function vetoRatioFinding(canary: ArmEvidence, stable: ArmEvidence, { bound, minSamples }: Bounded, previous?: GateResult): Finding {
  const samples = Math.min(canary.acts.total, stable.acts.total);
  const few = tooFew(samples, minSamples, 'acts of each arm');
  if (few !== undefined) return few;
  const [mine, base] = [canary, stable].map(({ acts }) => ({ passed: acts.vetoed, total: acts.total }) as const);
  if (mine === undefined || base === undefined) throw new RangeError('there are two arms');
  const { look, z, words } = lookAt(samples, minSamples, previous);
  const [value, baseline] = [mine.passed / mine.total, base.passed / base.total];
  const upper = differenceLimit(mine, base, -z95, bound);
  const asSeldom = bound >= 1 && value <= baseline;
  const refused = differenceLimit(mine, base, z, bound) > 0;
  const verdict: Verdict = refused ? 'Fail' : upper <= 0 || asSeldom ? 'Pass' : 'Inconclusive';
  const limit = bound * baseline;
  const message =
    `${value.toFixed(4)} of acts vetoed, and may be ${limit.toFixed(4)} (${bound} × ${baseline.toFixed(4)}): at most ${upper.toFixed(4)} above; ` +
    `${words} acts of each arm`;
  return { verdict, value, baseline, samples: mine.total, look, message };
}
