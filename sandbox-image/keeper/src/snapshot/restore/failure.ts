import { errnoOf, SnapshotError } from '../errors.ts';

/** What a caller is told of a restore that stopped; coded errors and aborts as they are. */
export function restoreFailure(id: string, error: unknown): unknown {
  const errno = errnoOf(error);
  if (error instanceof SnapshotError || (error instanceof Error && error.name === 'AbortError')) return error;
  return new SnapshotError('AF_RESTORE_FAILED', `restoring ${id} stopped: ${String(error)}`, { cause: error, details: { errno } });
}
