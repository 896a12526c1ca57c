import type { Obstacle } from './conditions.ts';
import { needsGpu, shardsOf } from '../../operands/index.ts';
import type { Expert } from '@agentfleet/protocol/api';
import type { Manifest } from '../../operands/manifest.ts';
import { seatDeployment, seatOf, wasSeated, type Seat } from '../../serving/index.ts';
import { itemOf } from '../../placement/index.ts';
import { serverRevision } from './servers.ts';
import type { PoolSnapshot } from './snapshot.ts';

/** The place of an expert by the plan in force; each revision has a place of its own, or none. */
export function seatOfExpert({ pool }: Pick<PoolSnapshot, 'pool'>, expert: Expert, revision: string | undefined): Seat {
  return seatOf(needsGpu(expert), pool.status, itemOf(expert.name, revision), shardsOf(expert));
}

/**
 * The Deployment of an expert where the plan puts it. One without a place is not made, and one that lost its place has no
 * pods any more: the memory belongs to somebody else. One that never had a place stays as it is. Pure.
 */
export function seated(snapshot: Pick<PoolSnapshot, 'deployments'>, seat: Seat, manifest: Manifest): readonly Manifest[] {
  const { object } = manifest;
  if (seat.kind === 'Unseated') {
    const present = snapshot.deployments.get(object.metadata.name);
    if ((seat.reason === undefined && seat.moves !== true) || !wasSeated(present?.spec?.template)) return [];
  }
  return [{ ...manifest, object: { ...object, spec: seatDeployment(object['spec'] as object, seat) } }];
}

/** Experts without a place, in the words of the placement. Pure. */
export function unseated(snapshot: PoolSnapshot): readonly Obstacle[] {
  return snapshot.pool.spec.experts.flatMap((expert): readonly Obstacle[] => {
    const seat = seatOfExpert(snapshot, expert, serverRevision(snapshot, expert));
    if (seat.kind !== 'Unseated' || seat.reason === undefined) return [];
    return [{ reason: seat.reason, message: seat.message, expert: expert.name }];
  });
}
