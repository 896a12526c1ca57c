// operator, rollout/statistics: judgement of a canary at the looks of its test design. Imports protocol/stats alone.
import type { Design } from './design.ts';
import { differenceLimit, effectiveSamples, normalQuantile, type Tally } from './distributions.ts';

export type Judgement = 'Promote' | 'Refuse' | 'Continue';

/** Judgement of the canary by the tasks so far, and the limit that decided it. */
export interface Judged {
  readonly judgement: Judgement;
  /** Index of the last look that was reached; −1 before the first. */
  readonly look: number;
  /** Lowest pass rate difference that the boundary of promotion leaves believable; undefined where no look of the design was due. */
  readonly limit: number | undefined;
  /** Highest difference that is believable of a canary that is refused for harm; undefined for all others. */
  readonly harm: number | undefined;
  /** Tasks that a look takes at the pass rate of both arms, by those that were planned. */
  readonly scale: number;
}

/** Point up to which a rollout was judged before. */
export interface JudgedBefore {
  /** Index of the last look that was reached; undefined before the first. */
  readonly look?: number;
  /** Tasks of the canary. */
  readonly samples: number;
}

/** Tasks of the canary with which it is looked at for harm first, and the chance to refuse an equal one by that. */
const harmLooks = { first: 20, error: 0.005 };

/**
 * Judges a canary at the last look that its tasks reach, each look once: call it when tasks were added, with what the last call
 * reached, and heed the first answer that is not Continue. Looks are shares of the information, so that they take more tasks where
 * fewer pass than was planned. Beside them it is refused as soon as it is known to be worse by more than the margin.
 */
export function judge(design: Design, canary: Tally, stable: Tally, before: JudgedBefore = { samples: 0 }): Judged {
  const { margin } = design.goal;
  const [scale, last] = [scaleOf(design, canary, stable), before.look ?? -1];
  const samples = effectiveSamples(canary, stable);
  const index = Math.max(
    last,
    design.looks.findLastIndex((look) => samples >= look.samples * scale),
  );
  const harm = harmOf(design, canary, stable, before);
  if (harm !== undefined) return { judgement: 'Refuse', look: index, limit: undefined, harm, scale };
  const look = index > last ? design.looks[index] : undefined;
  if (look === undefined) return { judgement: 'Continue', look: index, limit: undefined, harm, scale };
  const limit = differenceLimit(canary, stable, look.promote);
  if (limit > -margin) return { judgement: 'Promote', look: index, limit, harm, scale };
  const refused = look.fraction === 1 || differenceLimit(canary, stable, look.refuse) < -margin;
  return { judgement: refused ? 'Refuse' : 'Continue', look: index, limit, harm, scale };
}

function scaleOf({ goal: { baseRate } }: Design, canary: Tally, stable: Tally): number {
  const rate = (canary.passed + stable.passed) / Math.max(1, canary.total + stable.total);
  // If more tasks pass than planned, the planned number is still asked for: limits near all are too wide for few.
  return Math.max(1, (rate * (1 - rate)) / (baseRate * (1 - baseRate)));
}

/** The highest believable difference where that is harm, at looks that are due; undefined: nothing is known of harm. */
function harmOf({ goal }: Design, canary: Tally, stable: Tally, before: JudgedBefore): number | undefined {
  const look = openLook(canary.total, harmLooks.first);
  if (look < 0 || look <= openLook(before.samples, harmLooks.first)) return undefined;
  const limit = differenceLimit(canary, stable, -openBoundary(look, harmLooks.error));
  return limit < -goal.margin ? limit : undefined;
}

/**
 * Returns the look that so many samples reach, from 0, of a test without a last look known beforehand: at `first` samples, and
 * each time that they have doubled. Below 0 before the first.
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
