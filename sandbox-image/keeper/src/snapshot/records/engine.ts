import type { Readable } from 'node:stream';
import type { ExternalEffect, RestoreReport, ScrubReport, SnapshotRecord, TreeDiff } from '@agentfleet/protocol/keeper';
import type { Manifest } from '../base/manifest.ts';

export interface TakeOptions {
  readonly label?: string;
  /** Bytes that the object log may grow by; more is AF_STORE_FULL. */
  readonly maxBytes?: number;
}

/** Import of snapshots from another engine. Contents come first, then the snapshots that name them. */
export interface Adoption {
  /** Adds a part of a content; the parts of one follow one another. Verified with its last byte: AF_SNAPSHOT_OBJECT_CORRUPT. */
  add(part: { readonly sha256: string; readonly size: number; readonly offset: number; readonly bytes: Buffer }): void;
  /**
   * Makes snapshots durable, oldest first, with their ids, labels and digests. AF_SNAPSHOT_OBJECT_CORRUPT when a
   * manifest's digest differs from its record, or it names a missing content. `above`: no later snapshot gets this id
   * or a lower one.
   */
  place(snapshots: readonly { readonly record: SnapshotRecord; readonly text: () => Promise<Buffer> }[], above: string): Promise<void>;
  drop(): void;
}

/**
 * Snapshots of a set of directories. Calls that read or write the tree run one after another. The caller guarantees
 * that nothing else writes to the tree during take, restore and scan. Every failure that a caller can handle is a
 * `SnapshotError`.
 */
export interface SnapshotEngine {
  /** Captures the tree. AF_STORE_FULL leaves tree and earlier snapshots as they were. */
  take(options?: TakeOptions): Promise<SnapshotRecord>;
  /**
   * Makes the tree equal to a snapshot, reads it again and compares the digests. A report always
   * has `verified: true`; otherwise AF_RESTORE_MISMATCH is thrown, which names the first paths that differ.
   * AF_SNAPSHOT_OBJECT_CORRUPT is thrown before the tree is touched. May be repeated after a kill.
   */
  restore(id: string): Promise<RestoreReport>;
  /** Manifest of the tree now. */
  scan(): Promise<Manifest>;
  manifest(id: string): Promise<Manifest>;
  /** Oldest first; without those that are known to be broken. */
  list(): readonly SnapshotRecord[];
  /**
   * Returns the changes, without those of the modification time alone; a long `unified` is cut, and states so.
   * @param hide takes secrets out of whole texts before their lines are compared; absent: nothing
   */
  diff(from: string, to: string, hide?: (text: string) => string): Promise<TreeDiff>;
  /**
   * A tar whose `revert.sh` undoes from → to on the real tree; `to` may be `current`. `external` is reported in its description. It carries its
   * own proof (guard before, verification after) and needs only sh and GNU or busybox tools.
   */
  revertBundle(from: string, to: string, external?: readonly ExternalEffect[]): Promise<Readable>;
  /**
   * Removes snapshots by the engine's retention and frees unreferenced objects. Runs automatically after a take when
   * too many have accumulated, and before a take is refused for lack of room. Never during a take; a kill at any
   * instant does no damage to kept snapshots.
   */
  collect(): Promise<CollectReport>;
  /**
   * Checks manifests and contents against their hashes, concurrently with everything else. A broken snapshot is omitted
   * from `list` from then on; it returns when its contents have been stored again and a later scrub, or a restore of
   * it, finds them. Throws the signal's reason when aborted.
   */
  scrub(options?: ScrubOptions): Promise<ScrubReport>;
  /** Whole content by hex SHA-256, verified. */
  readObject(sha256: string): Promise<Buffer>;
  /** Part of a content, not verified: for contents that are too large to be held in memory. */
  readRange(sha256: string, offset: number, bytes: number): Promise<Buffer>;
  /**
   * Begins to import snapshots from another engine; only while this one has none. `maxBytes`: bytes that the store may
   * grow by. Nothing is visible before `place`. After a kill the caller removes the engine's whole folder when the rest
   * of the import did not complete.
   */
  adopt(maxBytes: number): Adoption;
  close(): Promise<void>;
}

/** Name of the current tree in `diff` and `revertBundle`. */
export const CURRENT = 'current';

export interface CollectReport {
  readonly reason: CollectReason;
  readonly removed: readonly string[];
  readonly kept: number;
  readonly freedObjects: number;
  readonly freedBytes: number;
  readonly tookMs: number;
}

export interface ScrubOptions {
  /** Bytes that may be read per second. Default: no limit. */
  readonly bytesPerSecond?: number;
  readonly signal?: AbortSignal;
}

/** Reason that a collection ran: too many snapshots, no room for the next one, or a caller's request. */
export type CollectReason = 'Count' | 'Room' | 'Asked';
