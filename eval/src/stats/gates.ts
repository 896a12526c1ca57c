/** Conditions for reporting a number or using a model. */
import { createHash } from 'node:crypto';
import { ece, type Interval, type Scored } from '@agentfleet/protocol/stats';
import { scoredInterval, type Random } from './statistics.ts';

/** An item of a data set, for finding leaks. */
export interface Example {
  /** The problem that it is about; all of its variants have the same. */
  readonly problem: string;
  readonly content: string;
}

/** A number that may not be reported; the message names fault and cure. */
export class GateError extends Error {
  override name = 'GateError';
}

/** Hashes content without differences by an editor or a copyist: white space, case of letters, kind of quotes. */
export function normalisedHash(content: string): string {
  const plain = content.normalize('NFKC').toLowerCase().replaceAll(/["'`]/g, "'").replaceAll(/\s+/g, ' ').trim();
  return createHash('sha256').update(plain).digest('hex');
}

const shownLeaks = 3;

/**
 * Refuses a split that is not disjoint, by problem and by normalised content; empty contents do not count.
 *
 * @throws GateError naming the first leaks and how many there are
 */
export function assertNoLeak(train: readonly Example[], test: readonly Example[]): void {
  const problems = new Set(train.map(({ problem }) => problem));
  const byHash = new Map(train.map(({ problem, content }) => [normalisedHash(content), problem]));
  const leaks = test.flatMap(({ problem, content }) => {
    if (problems.has(problem)) return [`problem ${problem} is in both`];
    const twin = content.trim() === '' ? undefined : byHash.get(normalisedHash(content));
    return twin === undefined ? [] : [`${problem} has the content of ${twin}`];
  });
  if (leaks.length === 0) return;
  const shown = [...new Set(leaks)].slice(0, shownLeaks).join('; ');
  throw new GateError(
    `the test half leaks into training, ${leaks.length} of ${test.length} items: ${shown}; split by problem, then train again`,
  );
}

/** Fewer items prove nothing. */
const minItems = 100;

interface CalibrationRules {
  readonly maxEce: number;
  readonly random: Random;
}

/** Figures of the gate. `passed` decides whether the probabilities may veto. */
interface CalibrationReport {
  readonly passed: boolean;
  readonly ece: Interval;
  readonly items: number;
  /** Reason for which it did not pass; empty when it passed. */
  readonly why: string;
}

/**
 * Checks whether probabilities are accurate enough to act upon: enough items of both classes, and a calibration error
 * not above the bound. An energy that does not pass this gate does not veto.
 */
export function calibrationGate(items: readonly Scored[], { maxEce, random }: CalibrationRules): CalibrationReport {
  const right = items.filter((item) => item.right).length;
  const found =
    items.length === 0 ? { value: Number.NaN, low: Number.NaN, high: Number.NaN } : scoredInterval(items, ece, { random, resamples: 500 });
  const why =
    items.length < minItems
      ? `${items.length} items are too few, ${minItems} are needed; collect more`
      : right === 0 || right === items.length
        ? 'all items are of one class; nothing can be said about the other'
        : found.value > maxEce
          ? `the calibration error is ${found.value.toFixed(3)}, above ${maxEce}; fit the calibration again on items that were not trained on`
          : '';
  return { passed: why === '', ece: found, items: items.length, why };
}
