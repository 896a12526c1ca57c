import { probabilityBins } from '@agentfleet/protocol/inference';

/** Counts of probabilities by bin. */
export type Bins = readonly number[];

/** Counts of nothing. */
export const noBins: Bins = Array.from({ length: probabilityBins }, () => 0);

/** Sums of two counts; those of another number of bins, as an older or newer worker tells them, say nothing. Pure. */
export function addBins(to: Bins, more: Bins | undefined): Bins {
  if (more?.length !== probabilityBins) return to;
  return to.map((count, bin) => count + (more[bin] ?? 0));
}
