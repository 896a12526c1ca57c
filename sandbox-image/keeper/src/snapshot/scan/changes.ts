import type { BytePath } from '../pathBytes.ts';

/** Names in a directory at which something may have changed; null for a name: anything at it and below. */
export type Below = ReadonlyMap<BytePath, Below | null>;

/** Nothing has changed. */
export const NOTHING: Below = new Map();

/**
 * Who knows where a tree can have changed, so that the rest need not be looked at. What it leaves out is
 * believed: it has to be exact, or to say that it does not know.
 */
export interface TreeChanges {
  /** By the name of the root, what may be other than at the last scan that was seen; null: anything. */
  since(): ReadonlyMap<string, Below> | null;
  /** A scan has been completed. */
  seen(): void;
}
