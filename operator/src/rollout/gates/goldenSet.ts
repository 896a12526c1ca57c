import { differenceLimit, z95 } from '../statistics/index.ts';
import type { Bounded, Finding, GoldenEvidence } from './gate.ts';

/** Shares of cases are written as decimals. */
const rounding = 1e-9;

const unasked: GoldenEvidence = { lacks: 'the golden set was not run', stuck: true };

/**
 * Compares what two revisions made of one set of cases. It is fixed, and its seed is the same for both: its cases are
 * compared as they are, without chance. The message has how far that holds for all cases like these. Pure.
 */
export function goldenSetFinding(
  canary: GoldenEvidence = unasked,
  stable: GoldenEvidence = unasked,
  { bound, minSamples }: Bounded,
): Finding {
  if ('lacks' in canary || 'lacks' in stable) return lacking(canary, stable);
  const samples = canary.total;
  if (samples < Math.max(1, minSamples)) {
    const message = `the set has ${samples} of ${minSamples} cases; enlarge it, or lower minSamples`;
    return { verdict: 'InsufficientData', samples, message };
  }
  if (samples !== stable.total) {
    const message = `${samples} cases of the canary and ${stable.total} of the stable revision: both have to work on all of them`;
    return { verdict: 'InsufficientData', samples, message };
  }
  const lost = stable.passed - canary.passed;
  const worst = -differenceLimit(canary, stable, z95);
  const chance = lost > 0 ? `; of all cases like these it loses ${worst.toFixed(3)} at most` : '';
  return {
    verdict: lost <= bound * samples + rounding ? 'Pass' : 'Fail',
    value: canary.passed / samples,
    baseline: stable.passed / samples,
    samples,
    message: `${canary.passed} of ${samples} cases pass, ${stable.passed} of the stable revision${chance}`,
  };
}

/** Returns the finding of arms without a result: first what only a person can bring, as missing data; what is under way is inconclusive. */
function lacking(canary: GoldenEvidence, stable: GoldenEvidence): Finding {
  const arms = [
    { arm: 'canary', found: canary },
    { arm: 'stable revision', found: stable },
  ];
  const lacks = arms.flatMap(({ arm, found }) => ('lacks' in found ? [{ stuck: found.stuck, message: `${arm}: ${found.lacks}` }] : []));
  const first = lacks.find(({ stuck }) => stuck) ?? lacks[0];
  return { verdict: first?.stuck === true ? 'InsufficientData' : 'Inconclusive', samples: 0, message: first?.message ?? '' };
}
