import { createHash } from 'node:crypto';

/** An object of a cluster is named by the id of a task; the rest of 63 is for a suffix. */
export const maxIdCharacters = 56;

/** The same for the same id, wherever and whenever it is read. */
export function seedOf(id: string): number {
  return createHash('sha256').update(id).digest().readUInt32BE(0) % 2 ** 31;
}
