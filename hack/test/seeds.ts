// hack, test: rounds of randomised tests with one seed each. May import any package.

/** Dependencies of rounds of randomised tests. */
interface SeedsWorld {
  /** Monotonic ms. */
  readonly now: () => number;
  /** Runs all randomised tests with a seed; true: they passed. */
  readonly run: (seed: number) => Promise<boolean>;
  readonly say: (line: string) => void;
}

interface SeedsResult {
  readonly rounds: number;
  /** Seeds with which a test failed. */
  readonly failed: readonly number[];
}

/** Largest seed: properties take a signed number of 32 bits. */
const mostSeed = 2 ** 31 - 1;

/**
 * Runs the same randomised tests with one seed after the other until the time is over; at least once. A failure does
 * not end it: further failures are useful, and each seed is reported at once.
 */
export async function runSeeds(firstSeed: number, minutes: number, { now, run, say }: SeedsWorld): Promise<SeedsResult> {
  const until = now() + minutes * 60_000;
  const failed: number[] = [];
  let rounds = 0;
  do {
    const seed = (firstSeed + rounds) % mostSeed;
    rounds += 1;
    if (await run(seed)) continue;
    failed.push(seed);
    say(`AGENTFLEET_SEED=${seed} fails`);
  } while (now() < until);
  say(`${rounds} rounds from seed ${firstSeed}, ${failed.length} failed${failed.length === 0 ? '' : `: ${failed.join(', ')}`}`);
  return { rounds, failed };
}
