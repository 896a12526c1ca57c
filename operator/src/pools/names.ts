import { createHash } from 'node:crypto';

/** Longest name of a child: what Deployments and Services append (hashes, `-<port>`) still fits the 63 characters of a label. */
const longest = 52;

/**
 * Joins parts to the name of a child object by `-`. A name over 52 characters is cut, and 8 hex digits of the SHA-256 of
 * the whole keep it apart from others that begin the same. Pure.
 */
export function childName(...parts: readonly string[]): string {
  const whole = parts.join('-');
  if (whole.length <= longest) return whole;
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, 8);
  // A cut may end in a dot or a dash, which no name may have before the next dash of a DNS label.
  return `${whole.slice(0, longest - 9).replace(/[-.]+$/, '')}-${digest}`;
}

/** Name of the workers' Deployment, of their PodDisruptionBudget and of the ConfigMap with their brief. */
export const workersName = (pool: string): string => childName(pool, 'workers');

/** ConfigMap that holds the PoolBrief. */
export const briefName = (pool: string): string => workersName(pool);

/** ServiceAccount that the workers of a pool run as; their tokens have the subject `system:serviceaccount:<namespace>:<this>`. */
export const workerServiceAccount = (pool: string): string => childName(pool, 'worker');

/** Deployment and Service of one expert. */
export const expertName = (pool: string, expert: string): string => childName(pool, 'expert', expert);

/** PersistentVolumeClaim of a pool without object storage. */
export const artifactsClaim = (pool: string): string => childName(pool, 'artifacts');
