import type { SnapshotRecord } from '@agentfleet/protocol/keeper';
import type { Baseline } from './baseline.ts';
import { broken, holds, passing, prove, type Proof } from './evidence.ts';
import type { Prepared } from './prepare.ts';
import type { Scope } from './scope.ts';

/** The tree that a search begins with, and what is known of it. */
export interface Start {
  readonly snapshot: SnapshotRecord;
  /** Tests that failed at the baseline and pass here. */
  readonly passing: ReadonlySet<string>;
  /** Runs on this tree; undefined where it is snapshot 0, which the baseline is of. */
  readonly proofs: readonly Proof[] | undefined;
  /** All checks hold here already. */
  readonly holds: boolean;
}

/**
 * Measures the tree that an earlier attempt left, where the task goes on with it. A tree on which something broke is given
 * up for snapshot 0: every candidate would be blamed for it. The tree is that of the start after it.
 */
export async function startOf({ session, progress }: Scope, { initial, start }: Prepared, baseline: Baseline): Promise<Start> {
  const fresh: Start = { snapshot: initial, passing: new Set(), proofs: undefined, holds: false };
  if (start.manifestDigest === initial.manifestDigest) return fresh;
  progress.say('running the checks on the tree of the last attempt', { urgent: true });
  progress.revoke('TreeClean');
  await session.restore(start.id);
  const proofs: Proof[] = [];
  for (const judged of baseline.checks) proofs.push(await prove(judged, baseline));
  const sound = proofs.every((proof) => broken(proof) === null);
  await session.restore(sound ? start.id : initial.id);
  progress.establish('TreeClean');
  return sound ? { snapshot: start, passing: passing(proofs), proofs, holds: proofs.every(holds) } : fresh;
}
