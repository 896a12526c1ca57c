import { countOf, lastBound, quantileLimits, z95 } from '../statistics/index.ts';
import type { ArmEvidence, Bounded, Finding, GateResult, Verdict } from './gate.ts';
import { lookAt, tooFew } from './look.ts';

/** Quantile of the times until an answer that is compared. */
const share = 0.95;

type Times = ArmEvidence['latencies'];

/**
 * Judges whether the canary takes longer than `bound` times what the stable revision does, by the limits of both quantiles
 * (one-sided 95 %, joined as Newcombe joins those of shares). Times beyond the last bucket are unknown, of whichever arm. Pure.
 * @param previous last result of this same rule
 */
export function latencyRatioFinding(canary: Times, stable: Times, { bound, minSamples }: Bounded, previous?: GateResult): Finding {
  const samples = Math.min(countOf(canary), countOf(stable));
  const few = tooFew(samples, minSamples, 'requests of each arm');
  if (few !== undefined) return few;
  const [mine, base] = [quantileLimits(canary, share, z95), quantileLimits(stable, share, z95)];
  for (const [who, { value }, times] of [['canary', mine, canary] as const, ['stable revision', base, stable] as const]) {
    if (Number.isFinite(value)) continue;
    const message = `quantile ${share} of the ${who} is above ${lastBound(times)} s, and no bucket tells by how much`;
    return { verdict: 'InsufficientData', samples, ...(previous?.look === undefined ? {} : { look: previous.look }), message };
  }
  const difference = mine.value - bound * base.value;
  const upper = difference + Math.hypot(mine.high - mine.value, bound * (base.value - base.low));
  const { look, z, words } = lookAt(samples, minSamples, previous);
  const [low, high] = [quantileLimits(canary, share, z).low, quantileLimits(stable, share, z).high];
  const lower = difference - Math.hypot(mine.value - low, bound * (high - base.value));
  const verdict: Verdict = lower > 0 ? 'Fail' : upper <= 0 ? 'Pass' : 'Inconclusive';
  const between = `${mine.low.toFixed(3)} to ${mine.high.toFixed(3)} s`;
  const message = `quantile ${share} is ${mine.value.toFixed(3)} s (${between}), and may be ${bound} × ${base.value.toFixed(3)} s; ${words} requests`;
  return { verdict, value: mine.value, baseline: base.value, samples: countOf(canary), look, message };
}
