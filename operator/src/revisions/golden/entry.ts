import type { GoldenReport } from '@agentfleet/protocol/golden';

/** What is kept of one revision's run of one golden set. */
export interface GoldenEntry {
  readonly revision: string;
  /** Hash of what is run. */
  readonly set: string;
  /** Number of the Job, from 0. */
  readonly run: number;
  /** Jobs in a row whose pod the cluster took away. */
  readonly lost: number;
  readonly report?: GoldenReport;
  /** Why there is no result until somebody changes something. */
  readonly fault?: string;
  /** The word of the annotation that asks for another try, as it was when the Job ended. */
  readonly word?: string;
}

/** Key of the ConfigMap. */
export const goldenKey = 'golden.json';

/** Entries that are kept: of the revisions and sets that were run last. */
const mostEntries = 24;

/** The entries of a text; none where it cannot be read, by which what is asked for is run again. Pure. */
export function goldenEntries(text: string | undefined): readonly GoldenEntry[] {
  try {
    const value: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(value) ? (value as readonly GoldenEntry[]) : [];
  } catch {
    return [];
  }
}

const isOf =
  (revision: string, set: string) =>
  (entry: GoldenEntry): boolean =>
    entry.revision === revision && entry.set === set;

/** What is known of a set and a revision. Pure. */
export function findEntry(entries: readonly GoldenEntry[], revision: string, set: string): GoldenEntry | undefined {
  return entries.find(isOf(revision, set));
}

/** The text with one entry in place of what was known before. Pure. */
export function textWith(entries: readonly GoldenEntry[], entry: GoldenEntry): string {
  const others = entries.filter((other) => !isOf(entry.revision, entry.set)(other));
  return JSON.stringify([...others, entry].slice(-mostEntries));
}
