import type { Scored } from '@agentfleet/protocol/stats';

/** Expected calibration error over ten bins of equal width. The score is a probability. */
export function calibrationError(all: readonly Scored[]): number {
  const bins = Array.from({ length: 10 }, () => ({ count: 0, score: 0, positive: 0 }));
  for (const { score, right } of all) {
    const bin = bins[Math.min(9, Math.floor(score * 10))];
    if (bin === undefined) continue;
    bin.count += 1;
    bin.score += score;
    bin.positive += right ? 1 : 0;
  }
  return bins.reduce((sum, bin) => sum + Math.abs(bin.score - bin.positive), 0) / all.length;
}

/** Isotonic regression, pool adjacent violators (R. Barlow et al., 1972): the best non-increasing map of the score. */
export function isotonic(all: readonly Scored[]): { readonly energies: number[]; readonly probabilities: number[] } {
  const blocks: { sum: number; positive: number; count: number; from: number; to: number }[] = [];
  for (const { score, right } of all.toSorted((a, b) => a.score - b.score)) {
    blocks.push({ sum: score, positive: right ? 1 : 0, count: 1, from: score, to: score });
    for (let last = blocks.at(-1), above = blocks.at(-2); last !== undefined && above !== undefined; above = blocks.at(-2)) {
      if (above.positive / above.count > last.positive / last.count && above.to < last.from) break;
      blocks.splice(-2, 2, {
        sum: above.sum + last.sum,
        positive: above.positive + last.positive,
        count: above.count + last.count,
        from: above.from,
        to: last.to,
      });
      last = blocks.at(-1);
    }
  }
  return { energies: blocks.map(({ sum, count }) => sum / count), probabilities: blocks.map(({ positive, count }) => positive / count) };
}

/** Nothing is certain: bounds as with some hundred cases. */
export const certain = (p: number): number => Number(Math.max(0.001, Math.min(0.999, p)).toFixed(4));
