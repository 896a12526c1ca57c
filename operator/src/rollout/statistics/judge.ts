import type { Design } from './design.ts';
import { differenceLimit, effectiveSamples, normalQuantile, type Tally } from './distributions.ts';

export type Judgement = 'Promote' | 'Refuse' | 'Continue';

/** What the tasks so far say about the canary, and the limit that it was decided by. */
export interface Judged {
  readonly judgement: Judgement;
  /** Index of the look that was reached; −1 before the first. */
  readonly look: number;
  /** Lowest pass rate difference that the boundary of promotion leaves believable; undefined before the first look. */
  readonly limit: number | undefined;
}

/**
 * Judges a canary at the last look that its tasks reach. A design is looked at once per look: call it when tasks were added,
 * and heed the first answer that is not Continue.
 */
export function judge(design: Design, canary: Tally, stable: Tally): Judged {
  const samples = effectiveSamples(canary, stable);
  const index = design.looks.findLastIndex((look) => samples >= look.samples);
  const look = design.looks[index];
  if (look === undefined) return { judgement: 'Continue', look: -1, limit: undefined };
  const { margin } = design.goal;
  const limit = differenceLimit(canary, stable, look.promote);
  if (limit > -margin) return { judgement: 'Promote', look: index, limit };
  const refused = look.fraction === 1 || differenceLimit(canary, stable, look.refuse) < -margin;
  return { judgement: refused ? 'Refuse' : 'Continue', look: index, limit };
}

/**
 * The look that so many samples reach, from 0, of a test whose last one nobody knows beforehand: at `first` samples, and each time
 * that they have doubled. Below 0 before the first.
 */
export function openLook(samples: number, first: number): number {
  return Math.floor(Math.log2(samples / first));
}

/** The boundary of a look of such a test, in standard errors: each spends half of the error that is left, so that all spend `error`. */
export function openBoundary(look: number, error: number): number {
  return normalQuantile(1 - error * 2 ** -(look + 1));
}

/**
 * The boundary from a look to the next one, in standard errors, that may be asked at each sample: all together spend `error`.
 * Over twice the samples a sum is beyond a limit at any time at most twice as often as at the end (P. Lévy's inequality).
 */
export function openBetween(look: number, error: number): number {
  return Math.SQRT2 * openBoundary(look + 1, error);
}
