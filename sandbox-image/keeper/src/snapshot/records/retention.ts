import type { SnapshotRecord } from '../engine.ts';

/** Which snapshots outlive a collection. The newest one always does: ids are counted on from it. */
export interface RetentionRule {
  /** How many of the newest stay, at least 1. */
  readonly newest: number;
  /** How many more may come together before a collection runs by itself. Default: a fifth of `newest`. */
  readonly slack?: number;
  /** Snapshots with one of these labels stay. */
  readonly labels: readonly string[];
}

/** Ids that stay: the newest, the labelled, and those named by the caller. `records`: oldest first. */
export function retainedIds(records: readonly SnapshotRecord[], rule: RetentionRule, named: Iterable<string>): Set<string> {
  const kept = new Set(named);
  for (const { id } of records.slice(-Math.max(1, rule.newest))) kept.add(id);
  for (const { id, label } of records) if (label !== null && rule.labels.includes(label)) kept.add(id);
  return new Set(records.map(({ id }) => id).filter((id) => kept.has(id)));
}
