// sandbox-image/keeper, snapshot/base: error codes of snapshots, with cures. May import protocol alone.

/** Codes of snapshot errors. A message names the fault and the place; the cure is separate. */
type SnapshotErrorCode =
  | 'AF_SNAPSHOT_CONFIG'
  | 'AF_SNAPSHOT_UNKNOWN'
  | 'AF_SNAPSHOT_OBJECT_CORRUPT'
  | 'AF_SNAPSHOT_UNREADABLE'
  | 'AF_STORE_FULL'
  | 'AF_QUOTA_EXCEEDED'
  | 'AF_RESTORE_FAILED'
  | 'AF_RESTORE_MISMATCH';

const CURES: Record<SnapshotErrorCode, string> = {
  AF_SNAPSHOT_CONFIG: 'correct the store directory or the roots',
  AF_SNAPSHOT_UNKNOWN: 'list the snapshots and name one of them',
  AF_SNAPSHOT_OBJECT_CORRUPT: 'restore another snapshot, or fetch this one from its durable checkpoint',
  AF_SNAPSHOT_UNREADABLE: 'look at the volume: the tree could not be read',
  AF_QUOTA_EXCEEDED: 'restore a snapshot: it removes what the snapshot lacks',
  AF_STORE_FULL: 'enlarge the store volume; the tree and the earlier snapshots are as they were',
  AF_RESTORE_FAILED: 'remove the cause and run the same restore again: it continues where it stopped',
  AF_RESTORE_MISMATCH: 'make sure that no process writes to the tree and run the same restore again',
};

/** Every failure that callers are meant to distinguish. */
export class SnapshotError extends Error {
  readonly code: SnapshotErrorCode;
  readonly cure: string;

  constructor(code: SnapshotErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'SnapshotError';
    this.code = code;
    this.cure = CURES[code];
  }
}

/** Returns the errno name of a system error (`ENOENT`), or `''`. */
export function errnoOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/** True for "the volume, or our quota on it, has no room left". */
export function isFull(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === 'ENOSPC' || errno === 'EDQUOT';
}
