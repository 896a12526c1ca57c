import type { Assignment } from '../api/agenttask/status.ts';
import type { PoolBrief } from './brief.ts';

/** What an assignment says of the revisions that its task works with. */
export type AssignedRevisions = Pick<Assignment, 'revision' | 'verifierRevision'>;

/**
 * The brief with the experts and the verifier of the revisions that an assignment names; those that serve everybody where
 * it names none. In words when the brief does not have them: the task must not be worked on by others, because its end is
 * counted for them. Pure.
 */
export function assignedBrief(brief: PoolBrief, { revision, verifierRevision }: AssignedRevisions): PoolBrief | string {
  const arm = brief.arms?.find((known) => known.revision === revision);
  const judge = brief.verifierArms?.find((known) => known.revision === verifierRevision);
  const unknown =
    revision !== undefined && arm === undefined
      ? revision
      : verifierRevision !== undefined && judge === undefined
        ? verifierRevision
        : undefined;
  if (unknown !== undefined) return `the brief of the pool does not name revision ${unknown}; it is given with the next attempt`;
  return {
    ...brief,
    ...(arm === undefined ? {} : { experts: arm.experts, absent: arm.absent }),
    ...(judge === undefined ? {} : { verifier: judge.verifier }),
  };
}
