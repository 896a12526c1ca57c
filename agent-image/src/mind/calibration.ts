import type { CalibrationBrief } from '@agentfleet/protocol/pool';

/**
 * Why the probabilities of a verifier do not count; null: they do. A worker may run on while the operator does not, so it looks
 * at the clock itself. Pure.
 *
 * @param told digest of the calibration that made the probabilities, as the answer says; undefined: not asked yet
 * @param now wall time, ms; null: unknown, the operator's word counts
 */
export function abstention(brief: CalibrationBrief | undefined, told: string | null | undefined, now: number | null): string | null {
  if (brief === undefined) return null;
  const { abstains, until, digest } = brief;
  if (abstains !== null) return `no calibration in force: ${abstains}`;
  if (until !== undefined && now !== null && !(now < Date.parse(until))) return `calibration stale since ${until}`;
  if (digest !== undefined && told !== undefined && told !== digest) return 'it answers by another calibration than the one in force';
  return null;
}
