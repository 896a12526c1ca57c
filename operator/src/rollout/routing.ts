// operator, rollout: choice of canary and control tasks by hash. May import protocol alone.
import { createHash } from 'node:crypto';

/** Parts of a hundred thousand: finer than any weight that is asked for. */
const parts = 100_000;

/**
 * Decides whether a task goes to the canary: by a hash of its uid and of the rollout, so that one task sees one checkpoint for
 * all its life, each rollout meets other tasks first, and a greater weight only adds tasks.
 * @param weight percent of tasks, 0 to 100
 */
export function goesToCanary(taskUid: string, rollout: string, weight: number): boolean {
  return placeOf(taskUid, rollout) < (weight / 100) * parts;
}

function placeOf(taskUid: string, rollout: string): number {
  const digest = createHash('sha256').update(`${rollout}\0${taskUid}`).digest();
  return digest.readUInt32BE(0) % parts;
}

/** Tasks of the stable revision that are counted, for one of the canary. */
const controlsPerCanary = 2;

/**
 * Decides whether a task that does not go to the canary is counted for the stable revision: by the other end of the same hash, as
 * many as give the best comparison with the canary within the size of their book.
 */
export function isControl(taskUid: string, rollout: string, weight: number): boolean {
  return placeOf(taskUid, rollout) >= Math.max(weight / 100, 1 - (controlsPerCanary * weight) / 100) * parts;
}
