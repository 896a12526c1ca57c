import { createHash } from 'node:crypto';
import { canonical } from '@agentfleet/kube';
import type { Expert } from '@agentfleet/protocol/api';

/** Hexadecimal digits of the SHA-256 over a value, whatever the order of its keys. Pure. */
export function shortHash(value: unknown, digits: number): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, digits);
}

/** Name of a revision of what an object serves; the uid keeps those of two objects apart. Pure. */
export function revisionOf(uid: string, content: unknown): string {
  return shortHash({ uid, content }, 10);
}

/** How many pods there are is no part of what they serve. */
function served(expert: Expert): Omit<Expert, 'replicas'> {
  const { replicas: _, ...rest } = expert;
  return rest;
}

/** Tells servers of one expert apart: two revisions in which it is the same share its pods. `beside` is what else is in them. Pure. */
export function expertHash(expert: Expert, image: string | undefined, beside?: unknown): string {
  return shortHash({ expert: served(expert), image, ...(beside === undefined ? {} : { beside }) }, 8);
}

/** Revision of a pool: of its experts in their order, each with its image. Pure. */
export function poolRevision(uid: string, experts: readonly Expert[], image: (expert: Expert) => string | undefined): string {
  return revisionOf(
    uid,
    experts.map((expert) => ({ expert: served(expert), image: image(expert) ?? null })),
  );
}
