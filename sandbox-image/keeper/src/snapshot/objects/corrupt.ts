import { SnapshotError } from '../errors.ts';
import { hexOf } from '../manifest.ts';

/** The error for an object that cannot be used; `what` completes the sentence. */
export function corrupt(hash: string, what: string): SnapshotError {
  const sha256 = hexOf(hash);
  return new SnapshotError('AF_SNAPSHOT_OBJECT_CORRUPT', `object ${sha256} ${what}`, { details: { sha256 } });
}
