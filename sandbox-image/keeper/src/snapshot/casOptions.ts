import type { Retention } from './collector.ts';
import type { SetMeta, SnapshotRoot } from './engine.ts';
import type { SegmentFs } from './objects/segmentLog.ts';
import type { TreeChanges } from './scan/changes.ts';
import type { TreeLimits } from './scan/treeLimits.ts';
import type { TreeStats } from './treeStats.ts';
import type { XattrAccess } from './xattrs.ts';

/** What an engine over a content-addressed store is opened with. */
export interface CasOptions {
  /** A directory that only this engine uses, on a durable volume outside of the roots. */
  readonly storeDir: string;
  readonly roots: readonly SnapshotRoot[];
  readonly setMeta: SetMeta;
  /** Absent: extended attributes are neither captured nor set. */
  readonly xattrs?: XattrAccess;
  /** Absent: a scan asks for one name after the other. */
  readonly treeStats?: TreeStats;
  /** Who knows what can have changed between scans. Absent: everything is looked at. */
  readonly changes?: TreeChanges;
  /** `now` in milliseconds since 1970, from the clock that the kernel stamps files with. */
  readonly clock: { readonly now: () => number };
  /** What is more than this is refused by `take`, and cleared by `restore`. Default: none. */
  readonly limits?: TreeLimits;
  /** Which snapshots `collect` removes. Default: none, and only what no manifest names is freed. */
  readonly retention?: Retention;
  /** Which boot of the machine this is. Default: as the kernel says. */
  readonly bootId?: string;
  /** Planted faults, for tests. */
  readonly segmentFs?: SegmentFs;
}
