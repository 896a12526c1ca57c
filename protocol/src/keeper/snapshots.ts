// protocol, keeper: requests and reports of snapshots, restores and diffs. May import environment alone.
import { Type, type Static } from 'typebox';
import { Redaction, type RedactionCounts } from './redaction.ts';
import { closed } from '../object.ts';

/** Body of `POST /v1/snapshots`. */
export const SnapshotRequest = closed({ label: Type.Optional(Type.String({ maxLength: 128 })) });
export type SnapshotRequest = Static<typeof SnapshotRequest>;

/** Beginning of the labels of snapshots that are taken right before a rollback: they may use room that others leave. */
export const rollbackLabel = 'before rollback';

/** Query of `GET /v1/diff` and `GET /v1/revert`: from a snapshot to a later one, or to the tree as it is. */
export const RangeQuery = closed({
  from: Type.String({ pattern: '^s[0-9]{4,}$' }),
  to: Type.Optional(Type.String({ pattern: '^(s[0-9]{4,}|current)$', default: 'current' })),
  redaction: Type.Optional(Redaction),
});
export type RangeQuery = Static<typeof RangeQuery>;

/** A path that exists but is not captured, or not with all that it has, and why. */
export interface SkippedPath {
  /** Text for people. */
  readonly path: string;
  /**
   * `unreadable`: not owned by the keeper and not readable; `mount`: another file system is mounted there; `acl`,
   * `capability`: captured without its POSIX ACL or file capabilities (where many paths have them, their root stands
   * for all).
   */
  readonly kind: 'fifo' | 'socket' | 'device' | 'unreadable' | 'mount' | 'acl' | 'capability';
}

/** A finished snapshot. Sizes in bytes, times in milliseconds. */
export interface SnapshotRecord {
  /** `s0001`, `s0002`, …; never used twice in a store. */
  readonly id: string;
  /** `sha256:` over the canonical manifest: equal digests mean equal trees. */
  readonly manifestDigest: string;
  /** The snapshot that the tree was last at, by take or restore; null for the first. */
  readonly parent: string | null;
  readonly label: string | null;
  readonly takenAt: string;
  readonly entries: number;
  readonly files: number;
  /** Sum of the file sizes; hard-linked files count once per path. */
  readonly bytes: number;
  readonly addedObjects: number;
  readonly addedBytes: number;
  readonly skipped: readonly SkippedPath[];
  readonly tookMs: number;
}

/** Result of a restore, and whether the tree now has the manifest digest of the snapshot. */
export interface RestoreReport {
  readonly id: string;
  readonly verified: boolean;
  readonly manifestDigest: string;
  readonly expectedDigest: string;
  readonly created: number;
  readonly modified: number;
  readonly deleted: number;
  /** At most 20 paths, as text for people; empty when `verified`. */
  readonly mismatches: readonly string[];
  readonly tookMs: number;
}

/** One difference of two trees. `T` = the type changed (for example file → folder). */
export interface DiffEntry {
  readonly path: string;
  readonly op: 'A' | 'M' | 'D' | 'T';
  readonly modeFrom?: number;
  readonly modeTo?: number;
  readonly sizeFrom?: number;
  readonly sizeTo?: number;
}

/** Answer of `GET /v1/diff`; `unified` is readable by `patch -p1` for ordinary text edits. */
export interface TreeDiff {
  readonly from: string;
  readonly to: string;
  readonly entries: readonly DiffEntry[];
  readonly unified: string;
  readonly redacted?: RedactionCounts;
}

/** Answer of `POST /v1/scrub`: every manifest and every content was read and compared with its hash. */
export interface ScrubReport {
  readonly snapshots: number;
  readonly objects: number;
  readonly bytes: number;
  /** Objects that do not match their hash; snapshots and paths that lack them, as text for people. */
  readonly damaged: readonly {
    readonly sha256: string;
    readonly why: string;
    readonly snapshots: readonly string[];
    readonly paths: readonly string[];
  }[];
  /** Snapshots that cannot be restored. */
  readonly broken: readonly string[];
  readonly tookMs: number;
}
