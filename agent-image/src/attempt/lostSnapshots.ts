import type { Run } from '@agentfleet/protocol/api';
import type { SnapshotRecord } from '@agentfleet/protocol/keeper';
import { AttemptFailure } from './failure.ts';
import { labelled, labels } from './prepare.ts';

/**
 * A sandbox that lacks the initial snapshot that was reported is not the one that the task was worked on in: its volume was
 * lost or replaced by an empty one. To go back there to "nothing" would be called a restore and be none.
 * @throws AttemptFailure of class Infrastructure
 */
export function assertSnapshotsThere(reported: Run['snapshots'], there: readonly SnapshotRecord[]): void {
  if (reported?.initial === undefined || labelled(there, labels.initial) !== undefined) return;
  const why = `snapshot ${reported.initial} of the task was reported, and its sandbox, which has ${there.length} snapshots, lacks it`;
  const cure = 'bring back the volume or the checkpoints of the pool; nothing was restored';
  throw new AttemptFailure('Infrastructure', 'SnapshotsLost', `${why}; ${cure}`);
}
