import { inspectLog, type LogInspection } from '@agentfleet/keeper/log';
import type { AuditRecord } from '@agentfleet/protocol/keeper';

/** An event log as it was read, whole or not. */
export interface Trace extends LogInspection {
  /** Records whose content fits their own hash, as they stand in the file. Only when `ok` they are what happened. */
  readonly read: readonly AuditRecord[];
}

/** Reads and checks an event log, given by its path or its content; `root` is `status.run.auditRoot` of its task. */
export async function readTrace(log: string | Buffer, root?: string, signal?: AbortSignal): Promise<Trace> {
  const read: AuditRecord[] = [];
  const onRecord = (record: AuditRecord): void => void read.push(record);
  const inspection = await inspectLog(log, {
    onRecord,
    ...(root === undefined ? {} : { root }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { ...inspection, read };
}
