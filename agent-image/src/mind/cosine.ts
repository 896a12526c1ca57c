/** Cosine of two vectors of length 1, kept in −1…1 against rounding. */
export function cosine(a: readonly number[], b: readonly number[]): number {
  let sum = 0;
  for (const [at, value] of a.entries()) sum += value * (b[at] ?? 0);
  return Math.max(-1, Math.min(1, sum));
}
