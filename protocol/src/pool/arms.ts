import type { Assignment } from '../api/agenttask/status.ts';
import type { PoolBrief } from './brief.ts';

/**
 * The brief with the experts of the revision that an assignment names; those that serve everybody where it names none. In
 * words when the brief does not have them: the task must not be worked on by others, because its end is counted for them. Pure.
 */
export function assignedBrief(brief: PoolBrief, { revision }: Pick<Assignment, 'revision'>): PoolBrief | string {
  if (revision === undefined) return brief;
  const arm = brief.arms?.find((known) => known.revision === revision);
  if (arm === undefined) return `the brief of the pool does not name revision ${revision}; it is given with the next attempt`;
  return { ...brief, experts: arm.experts, absent: arm.absent };
}
