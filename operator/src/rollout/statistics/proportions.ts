/** Tasks that were judged, and how many of them passed. */
export interface Tally {
  readonly passed: number;
  readonly total: number;
}

/** Wilson's score limits of a proportion, `z` standard errors wide. Both 0 and 1 for no observation. */
export function wilson({ passed, total }: Tally, z: number): { readonly lower: number; readonly upper: number } {
  if (total === 0) return { lower: 0, upper: 1 };
  const share = passed / total;
  const centre = share + (z * z) / (2 * total);
  const half = Math.abs(z) * Math.sqrt((share * (1 - share)) / total + (z * z) / (4 * total * total));
  const scale = 1 + (z * z) / total;
  return { lower: Math.max(0, (centre - half) / scale), upper: Math.min(1, (centre + half) / scale) };
}

/**
 * The limit of the difference canary − stable that lies `z` standard errors below the estimate (above it for negative z):
 * Newcombe's hybrid of Wilson's limits (Statistics in Medicine 17, 1998, method 10). It never leaves −1…1 and holds its level
 * near 0 and 1, where the usual one does not.
 */
export function differenceLimit(canary: Tally, stable: Tally, z: number): number {
  if (canary.total === 0 || stable.total === 0) return z >= 0 ? -1 : 1;
  const difference = canary.passed / canary.total - stable.passed / stable.total;
  const c = wilson(canary, z);
  const s = wilson(stable, z);
  const [share, other] = [canary.passed / canary.total, stable.passed / stable.total];
  if (z >= 0) return difference - Math.hypot(share - c.lower, s.upper - other);
  return difference + Math.hypot(c.upper - share, other - s.lower);
}

/** Tasks of one arm that carry as much information about the difference as both arms do. */
export function effectiveSamples(canary: Tally, stable: Tally): number {
  if (canary.total === 0 || stable.total === 0) return 0;
  return 1 / (1 / canary.total + 1 / stable.total);
}
