import { wilson } from '@agentfleet/protocol/stats';
import { openBetween, openBoundary, openLook, z95, type Tally } from '../statistics/index.ts';
import type { Bounded, Finding, GateResult, Verdict } from './gate.ts';

/** Distance beyond its bound at which a gate leads back, in standard errors. */
interface Boundary {
  /** At a look. */
  readonly at: number;
  /** From then on until the next look. */
  readonly between: number;
}

/** Largest number of looks: at the last one a gate has a million million samples. */
const mostLooks = 40;

/** Boundaries of looks that lead back a canary that keeps its bound with this chance at most, however often it is judged. Pure. */
export function boundariesOf(error: number): readonly Boundary[] {
  return Array.from({ length: mostLooks }, (_, look) => ({ at: openBoundary(look, error / 2), between: openBetween(look, error / 2) }));
}

/** As the test of tasks errs. */
const shipped = boundariesOf(0.045);

/** The last look that a gate has reached. */
interface GateLook {
  readonly look: number;
  /** Standard errors beyond which it leads back. */
  readonly z: number;
  /** Number of this look and of the samples that the next one takes, in words. */
  readonly words: string;
}

/**
 * Returns how far beyond its bound a gate that is judged at each moment has to be to lead back: in time chance crosses any fixed
 * limit. Half of the error is for looks, with the first samples that the gate takes and each time that these have doubled, each
 * of which counts once; the other half for all moments between them, where only a value far beyond leads back. Pure.
 * @param minSamples samples of the first look, where that is more than one
 * @param previous last result of this same rule
 */
export function lookAt(samples: number, minSamples: number, previous: GateResult | undefined, boundaries = shipped): GateLook {
  const first = Math.max(1, minSamples);
  const [reached, last] = [openLook(samples, first), previous?.look ?? -1];
  // Fewer samples than before: those of a pod that does not answer just now are missing.
  const look = Math.max(reached, last);
  const { at, between } = boundaries[look] ?? { at: Infinity, between: Infinity };
  const z = look > last ? at : between;
  return { look, z, words: `look ${look + 1}, the next with ${first * 2 ** (look + 1)}` };
}

/** Returns the finding where there are not enough samples; undefined: there are. Pure. */
export function tooFew(samples: number, minSamples: number, what: string): Finding | undefined {
  const needed = Math.max(1, minSamples);
  if (samples >= needed) return undefined;
  return { verdict: 'InsufficientData', samples, message: `${samples} of ${needed} ${what} so far` };
}

/** Judges whether a share keeps its bound, by its limits (one-sided 95 %, Wilson). Pure. */
export function rateFinding(
  side: 'atLeast' | 'atMost',
  { passed, total }: Tally,
  { bound, minSamples }: Bounded,
  what: string,
  previous: GateResult | undefined,
  more = '',
): Finding {
  const few = tooFew(total, minSamples, what);
  if (few !== undefined) return few;
  const { look, z, words } = lookAt(total, minSamples, previous);
  const [now, refused] = [wilson(passed, total, z95), wilson(passed, total, z)];
  const judged =
    side === 'atMost'
      ? { fails: refused.low > bound, passes: now.high <= bound, words: `at most ${now.high.toFixed(4)}, and may be ${bound}` }
      : { fails: refused.high < bound, passes: now.low >= bound, words: `at least ${now.low.toFixed(4)}, and has to be ${bound}` };
  const verdict: Verdict = judged.fails ? 'Fail' : judged.passes ? 'Pass' : 'Inconclusive';
  const message = `${passed} of ${total} ${what}${more}: ${judged.words}; ${words}`;
  return { verdict, value: passed / total, samples: total, look, message };
}
