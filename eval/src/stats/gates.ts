/** Conditions for reporting a number. */
import { createHash } from 'node:crypto';

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
