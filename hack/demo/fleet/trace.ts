import type { AuditRecord } from '@agentfleet/protocol/keeper';

/** What the event log of a sandbox says, read from its records alone. */
export interface TraceFacts {
  /** Manifest digest of the newest snapshot with the label `initial`. */
  readonly initial: string | undefined;
  /** Manifest digest that the last finished restore found, and its record. */
  readonly restored: { readonly digest: string; readonly verified: boolean; readonly seq: number } | undefined;
  /** Manifest digest of the newest snapshot before that restore: the tree that was undone. */
  readonly undone: string | undefined;
  /** When the first command was asked for, in milliseconds since the epoch. */
  readonly firstExec: number | undefined;
  readonly execs: number;
  /** Candidates that were tried. */
  readonly tried: number;
  /** The last record after which the tree may have changed. */
  readonly lastChange: number;
}

const changing: ReadonlySet<string> = new Set(['ExecRequested', 'FileWritten', 'TreeWritten']);

/** Reads the facts out of the records. Pure. */
export function traceFacts(records: readonly AuditRecord[]): TraceFacts {
  const execs = records.filter(({ type }) => type === 'ExecRequested');
  const initial = records.findLast(({ type, body }) => type === 'SnapshotTaken' && body['label'] === 'initial');
  const restored = records.findLast(({ type, body }) => type === 'SnapshotRestored' && body['phase'] === 'Done');
  const undone = records.findLast(({ type, seq }) => type === 'SnapshotTaken' && seq < (restored?.seq ?? 0));
  const [first] = execs;
  return {
    initial: digestOf(initial),
    restored:
      restored === undefined
        ? undefined
        : { digest: digestOf(restored) ?? '', verified: restored.body['verified'] === true, seq: restored.seq },
    undone: digestOf(undone),
    firstExec: first === undefined ? undefined : Date.parse(first.at),
    execs: execs.length,
    tried: records.filter(({ type, body }) => type === 'Noted' && body['kind'] === 'Tried').length,
    lastChange: records.findLast(({ type }) => changing.has(type))?.seq ?? 0,
  };
}

function digestOf(record: AuditRecord | undefined): string | undefined {
  const digest = record?.body['manifestDigest'];
  return typeof digest === 'string' ? digest : undefined;
}
