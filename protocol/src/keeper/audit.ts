// protocol, keeper: record types of the keeper's event log and its audit report. May import environment alone.

/** The kinds of records in the keeper's event log (the log of a task; `protocol/src/log` is of programs). */
export const auditTypes = [
  'KeeperStarted',
  'ToolsConnected',
  'ToolsLost',
  'NetworkProbed',
  'EpochRaised',
  'ExecRequested',
  'ExecEnded',
  'OutputCut',
  'ExecInput',
  'SessionRequested',
  'SessionEnded',
  'FileWritten',
  'PatchApplied',
  'TreeWritten',
  'SecretsDeclared',
  'Redacted',
  'RawRead',
  'Noted',
  'SnapshotTaken',
  'SnapshotRestored',
  'Adopted',
  'SnapshotsCollected',
  'SnapshotsScrubbed',
  'ToolsRestartRequested',
  'EgressOpened',
  'EgressClosed',
] as const;
export type AuditType = (typeof auditTypes)[number];

/**
 * One line of the append-only event log: the canonical JSON (RFC 8785) of the record, nothing else.
 * `hash` = hex SHA-256 over the previous record's hash, a newline, and the canonical JSON of all
 * members but `prev` and `hash`; the first record's `prev` is 64 zeros. Altering, dropping or
 * reordering any record breaks the chain.
 */
export interface AuditRecord {
  readonly seq: number;
  /** RFC 3339, milliseconds, UTC. */
  readonly at: string;
  readonly type: AuditType;
  readonly epoch: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly prev: string;
  readonly hash: string;
}

/** Answer of `GET /v1/audit`: the whole log was read back from disk and checked. */
export interface AuditReport {
  readonly ok: boolean;
  readonly records: number;
  /** Hash of the last record, or 64 zeros for an empty log. */
  readonly root: string;
  /** Sequence number of the first record that breaks the chain, and why. */
  readonly broken: { readonly seq: number; readonly why: string } | null;
}
