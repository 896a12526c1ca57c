/** A score and whether what it was given to is positive. */
export interface Scored {
  readonly score: number;
  readonly positive: boolean;
}

/** Area under the ROC curve: P(a positive scores above a negative), ties count one half. NaN without both kinds. */
export function auc(all: readonly Scored[]): number {
  const ordered = all.toSorted((a, b) => a.score - b.score);
  let rankSum = 0;
  for (let from = 0; from < ordered.length;) {
    let to = from;
    while (to < ordered.length && ordered[to]?.score === ordered[from]?.score) to += 1;
    const rank = (from + 1 + to) / 2;
    for (let at = from; at < to; at += 1) if (ordered[at]?.positive === true) rankSum += rank;
    from = to;
  }
  const positives = all.filter(({ positive }) => positive).length;
  const negatives = all.length - positives;
  return (rankSum - (positives * (positives + 1)) / 2) / (positives * negatives);
}

/** Expected calibration error over ten bins of equal width. The score is a probability. */
export function calibrationError(all: readonly Scored[]): number {
  const bins = Array.from({ length: 10 }, () => ({ count: 0, score: 0, positive: 0 }));
  for (const { score, positive } of all) {
    const bin = bins[Math.min(9, Math.floor(score * 10))];
    if (bin === undefined) continue;
    bin.count += 1;
    bin.score += score;
    bin.positive += positive ? 1 : 0;
  }
  return bins.reduce((sum, bin) => sum + Math.abs(bin.score - bin.positive), 0) / all.length;
}

/** Brier score: mean squared distance of the probability from what was. */
export function brierScore(all: readonly Scored[]): number {
  return mean(all.map(({ score, positive }) => (score - Number(positive)) ** 2));
}

/** Isotonic regression, pool adjacent violators (R. Barlow et al., 1972): the best non-increasing map of the score. */
export function isotonic(all: readonly Scored[]): { readonly energies: number[]; readonly probabilities: number[] } {
  const blocks: { sum: number; positive: number; count: number; from: number; to: number }[] = [];
  for (const { score, positive } of all.toSorted((a, b) => a.score - b.score)) {
    blocks.push({ sum: score, positive: positive ? 1 : 0, count: 1, from: score, to: score });
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

/** Mean of a list; NaN for an empty one. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
