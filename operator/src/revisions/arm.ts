import type { Assignment, RolloutStatus } from '@agentfleet/protocol/api';
import { goesToCanary, isControl } from '../rollout/index.ts';

/** What a task works with, and the rollout that its end is counted for. */
export interface Arm {
  readonly revision: string | undefined;
  readonly rollout: string | undefined;
  /** The rollout whose revision gets copies of its requests; its end counts for no arm then. */
  readonly shadow: string | undefined;
}

/** What of an assignment says with what the task works, and who judges it. */
export type Arms = Pick<Assignment, 'revision' | 'verifierRevision' | 'rollout' | 'shadow'>;

/** The arm of a task that never had one. Pure. */
export function armOf(uid: string, status: RolloutStatus | undefined): Arm {
  const { stable, canary, weight = 0, id } = status ?? {};
  const apart = { revision: stable, rollout: undefined, shadow: status?.phase === 'Shadowing' ? id : undefined };
  if (status === undefined || !isTrying(status) || canary === undefined || id === undefined) return apart;
  if (goesToCanary(uid, id, weight)) return { ...apart, revision: canary, rollout: id };
  return { ...apart, rollout: isControl(uid, id, weight) ? id : undefined };
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
 * What a task works with from this assignment on, and who judges it. `before` is that of the one before, undefined for the
 * first. A task that has to change either is counted for nobody from then on. `status` is the pool's, `judge` its model's. Pure.
 */
export function armsOf(uid: string, before: Arms | undefined, status: RolloutStatus | undefined, judge?: RolloutStatus): Arms {
  const { revision, verifierRevision, rollout, shadow } = before === undefined ? first(uid, status, judge) : later(before, status, judge);
  return {
    ...(revision === undefined ? {} : { revision }),
    ...(verifierRevision === undefined ? {} : { verifierRevision }),
    ...(rollout === undefined ? {} : { rollout }),
    ...(shadow === undefined ? {} : { shadow }),
  };
}

interface Chosen extends Arm {
  readonly verifierRevision: string | undefined;
}

/** Two caches may show two rollouts of which one is over: then nobody is tried, as nobody could tell whose the end was. */
function first(uid: string, status: RolloutStatus | undefined, judge: RolloutStatus | undefined): Chosen {
  const both = [status, judge].every((known) => known !== undefined && (isTrying(known) || known.phase === 'Shadowing'));
  if (both) return { revision: status?.stable, verifierRevision: judge?.stable, rollout: undefined, shadow: undefined };
  const [worker, verifier] = [armOf(uid, status), armOf(uid, judge)];
  return {
    revision: worker.revision,
    verifierRevision: verifier.revision,
    rollout: worker.rollout ?? verifier.rollout,
    shadow: worker.shadow ?? verifier.shadow,
  };
}

function later(before: Arms, status: RolloutStatus | undefined, judge: RolloutStatus | undefined): Chosen {
  const revision = laterRevision(before.revision, status);
  const verifierRevision = laterRevision(before.verifierRevision, judge);
  const same = revision === before.revision && verifierRevision === before.verifierRevision;
  return { revision, verifierRevision, rollout: same ? before.rollout : undefined, shadow: same ? before.shadow : undefined };
}
