import type { Assignment, RolloutStatus } from '@agentfleet/protocol/api';
import { goesToCanary, isControl } from '../rollout/index.ts';

/** What a task works with, and the rollout that its end is counted for. */
export interface Arm {
  readonly revision: string | undefined;
  readonly rollout: string | undefined;
}

/** What of an assignment says with what the task works. */
export type Arms = Pick<Assignment, 'revision' | 'rollout'>;

/** The arm of a task that never had one. Pure. */
export function armOf(uid: string, status: RolloutStatus | undefined): Arm {
  const { stable, canary, weight = 0, id } = status ?? {};
  if (status === undefined || !isTrying(status) || canary === undefined || id === undefined)
    return { revision: stable, rollout: undefined };
  if (goesToCanary(uid, id, weight)) return { revision: canary, rollout: id };
  return { revision: stable, rollout: isControl(uid, id, weight) ? id : undefined };
}

/** The revision of a task that had one: the same as long as it may serve, so that one task sees one revision. Pure. */
export function laterRevision(before: string | undefined, status: RolloutStatus | undefined): string | undefined {
  if (before === undefined || status === undefined) return status?.stable;
  const serves = before === status.stable || (isTrying(status) && before === status.canary) || status.lastGreen?.includes(before) === true;
  return serves ? before : status.stable;
}

function isTrying({ phase }: RolloutStatus): boolean {
  return phase === 'Canary' || phase === 'Promoting';
}

/**
 * What a task works with from this assignment on. `before` is that of the one before, undefined for the first. A task that
 * has to change what it works with is counted for nobody from then on. Pure.
 */
export function armsOf(uid: string, before: Arms | undefined, status: RolloutStatus | undefined): Arms {
  const later = before === undefined ? undefined : laterRevision(before.revision, status);
  const { revision, rollout } =
    before === undefined ? armOf(uid, status) : { revision: later, rollout: later === before.revision ? before.rollout : undefined };
  return { ...(revision === undefined ? {} : { revision }), ...(rollout === undefined ? {} : { rollout }) };
}
