import { createHash } from 'node:crypto';

/** Parts of a hundred thousand, as those by which tasks go to a canary. */
const parts = 100_000;

/**
 * Whether a request is copied: by a hash of the rollout and of the id of the request, which names task, attempt and number, so
 * that it can be found out again which ones were. Pure.
 */
export function isSampled(rollout: string, requestId: string, percent: number): boolean {
  const digest = createHash('sha256').update(`shadow\0${rollout}\0${requestId}`).digest();
  return digest.readUInt32BE(0) % parts < (percent / 100) * parts;
}
