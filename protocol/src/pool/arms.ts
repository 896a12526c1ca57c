import type { Assignment } from '../api/agenttask/status.ts';
import type { PoolBrief } from './brief.ts';

/** What of an assignment says who works and who judges. */
type Named = Pick<Assignment, 'revision' | 'verifierRevision' | 'rollout'>;

/**
 * The brief with the experts and the verifier of the revisions that an assignment names; those that serve everybody where it
 * names none. In words when the brief does not have them: the task must not be worked on by others, because its end is
 * counted for them. Pure.
 */
export function assignedBrief(brief: PoolBrief, assignment: Named): PoolBrief | string {
  const judged = withVerifier(brief, assignment);
  const { revision } = assignment;
  if (typeof judged === 'string' || revision === undefined) return judged;
  const arm = brief.arms?.find((known) => known.revision === revision);
  return arm === undefined ? unknown(revision) : { ...judged, experts: arm.experts, absent: arm.absent };
}

/** A task that is counted for nobody may be judged by the verifier of all others: its own went with its rollout. */
function withVerifier(brief: PoolBrief, { verifierRevision, rollout }: Named): PoolBrief | string {
  if (verifierRevision === undefined) return brief;
  const arm = brief.verifierArms?.find((known) => known.revision === verifierRevision);
  if (arm !== undefined) return { ...brief, verifier: arm.verifier };
  return rollout === undefined ? brief : unknown(`${verifierRevision} of the verifier`);
}

function unknown(revision: string): string {
  return `the brief of the pool does not name revision ${revision}; it is given with the next attempt`;
}
