import type { Assignment, RolloutStatus } from '@agentfleet/protocol/api';
import { goesToCanary, isControl } from '../rollout/index.ts';

/** What a task works with, and the rollout that its end is counted for. */
export interface Arm {
  readonly revision: string | undefined;
  readonly rollout: string | undefined;
}

/** What of an assignment says with what the task works. */
export type Arms = Pick<Assignment, 'revision' | 'verifierRevision' | 'rollout'>;

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
export function armsOf(
  uid: string,
  before: Arms | undefined,
  experts: RolloutStatus | undefined,
  verifier: RolloutStatus | undefined,
): Arms {
  const [e, v] =
    before === undefined
      ? [armOf(uid, experts), armOf(uid, verifier)]
      : [{ revision: laterRevision(before.revision, experts) }, { revision: laterRevision(before.verifierRevision, verifier) }];
  const same = before !== undefined && e.revision === before.revision && v.revision === before.verifierRevision;
  const rollout = before === undefined ? ((e as Arm).rollout ?? (v as Arm).rollout) : same ? before.rollout : undefined;
  return {
    ...(e.revision === undefined ? {} : { revision: e.revision }),
    ...(v.revision === undefined ? {} : { verifierRevision: v.revision }),
    ...(rollout === undefined ? {} : { rollout }),
  };
}
