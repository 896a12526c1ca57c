// protocol, inference: bucket bounds of the histogram of request times. May import environment alone.

/** Bounds in one decade: each is at most half more than the one before. */
const decade = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8] as const;

/** Upper bounds of the histogram `agentfleet_inference_request_seconds`, 1 ms to 10 minutes: narrow enough to compare two revisions by. */
export const requestSecondsBuckets: readonly number[] = [-3, -2, -1, 0, 1, 2]
  .flatMap((exponent) => decade.map((bound) => Number(`${bound}e${exponent}`)))
  .filter((bound) => bound <= 600);
