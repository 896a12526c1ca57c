import { stat } from 'node:fs/promises';
import type { AuditRecord, AuditReport } from '@agentfleet/protocol/keeper';
import { errnoOf } from '../failure.ts';
import { readLines } from '../lines.ts';
import { checkLine, emptyChain, genesis, type ChainHead } from './chain.ts';

export interface VerifyOptions {
  /** Read only this many bytes: what was committed when the check was asked for. */
  readonly end?: number;
  /** Called for every good record, in order, with the offset of its line. */
  readonly onRecord?: (record: AuditRecord, offset: number) => void;
  /** A head seen earlier. A log that lost its tail is a valid, shorter chain: only this shows it. */
  readonly expect?: ChainHead;
  readonly signal?: AbortSignal;
}

/** What was read: the report, and how the file ends. */
export interface LogCheck extends AuditReport {
  /** Offset behind the last good record. */
  readonly end: number;
  /** Bytes of a last line without newline: a write that did not finish. */
  readonly tornBytes: number;
}

/**
 * Reads a log back from disk and checks every link of its chain. A torn last line is reported in
 * `tornBytes` and makes the log not `ok`; a missing file is an empty log.
 */
export async function verifyLog(file: string, options: VerifyOptions = {}): Promise<LogCheck> {
  let head = emptyChain;
  let end = 0;
  const finish = (why: string | null, tornBytes = 0): LogCheck => ({
    ok: why === null,
    records: head.seq,
    root: head.hash,
    broken: why === null ? null : { seq: head.seq + 1, why },
    end,
    tornBytes,
  });
  const size = options.end ?? (await sizeOf(file));
  let anchorSeen = options.expect === undefined || options.expect.hash === genesis;
  for await (const line of size === 0 ? [] : readLines(file, { ...options, end: size })) {
    const lineEnd = line.offset + line.bytes.length;
    if (!line.complete) return lineEnd < size ? finish('its line is too long') : finish('the last line is torn', line.bytes.length);
    const { record, why } = checkLine(head, line.bytes);
    if (record === null || why !== null) return finish(why);
    options.onRecord?.(record, line.offset);
    head = { seq: record.seq, hash: record.hash };
    anchorSeen ||= head.seq === options.expect?.seq && head.hash === options.expect.hash;
    end = lineEnd + 1;
  }
  return finish(anchorSeen || options.expect === undefined ? null : missingTail(head, options.expect));
}

function missingTail(head: ChainHead, expect: ChainHead): string | null {
  if (expect.hash === genesis) return null;
  return head.seq < expect.seq
    ? `${expect.seq - head.seq} records are missing at the end`
    : `record ${expect.seq} is not the one seen before`;
}

/** Size in bytes; a missing file has none. */
async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return 0;
    throw error;
  }
}
