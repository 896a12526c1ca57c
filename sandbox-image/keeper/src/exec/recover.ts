import { createHash } from 'node:crypto';
import { appendFile, truncate, writeFile } from 'node:fs/promises';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { errnoOf } from '../failure.ts';
import { readLines } from '../lines.ts';
import { interruptedEnd, type JournalArchive } from './archive.ts';
import type { JournalHeader } from './journal.ts';

/** Collects, record by record, the commands whose intent is in the log and whose end is not. */
export class UnfinishedExecs {
  readonly #open = new Map<string, JournalHeader>();
  #toolsConnected = false;

  /** Whether a runner was there: commands and sessions of it may outlive a keeper that died, until it dials again. */
  get toolsConnected(): boolean {
    return this.#toolsConnected;
  }

  add(record: AuditRecord): void {
    if (record.type === 'ToolsConnected') this.#toolsConnected = true;
    const { execId, requestDigest } = record.body;
    if (typeof execId !== 'string') return;
    if (record.type === 'ExecEnded') this.#open.delete(execId);
    if (record.type !== 'ExecRequested' || typeof requestDigest !== 'string') return;
    this.#open.set(execId, { type: 'request', execId, requestDigest, epoch: record.epoch, at: record.at });
  }

  get all(): readonly JournalHeader[] {
    return [...this.#open.values()];
  }
}

/** What the log must still say of a command: the body of its `ExecEnded`. */
export type RecoveredEnd = Readonly<Record<string, unknown>>;

/**
 * Ends a command that a previous keeper left open. A journal without an end gets one that says
 * `KeeperRestarted`: the effects are unknown. One that never reached the disk is made, so that the
 * id is taken and repeating it replays this end. The runner kills all commands when the link is lost,
 * and dials when none is left; until then the gate is shut.
 */
export async function endOrphan(archive: JournalArchive, header: JournalHeader): Promise<RecoveredEnd> {
  const file = archive.path(header.execId);
  const { lines, end, last } = await readWhole(file);
  const interrupted = last?.startsWith('{"type":"end"') !== true;
  if (lines === 0) await writeFile(file, `${JSON.stringify(header)}\n`, { mode: 0o600 });
  else await truncate(file, end);
  const event = { ...interruptedEnd('KeeperRestarted'), seq: Math.max(lines, 1) };
  if (interrupted) await appendFile(file, `${JSON.stringify(event)}\n`);
  const hash = createHash('sha256');
  for await (const line of readLines(file)) hash.update(line.bytes).update('\n');
  const told = interrupted ? { exitCode: null, interrupted: 'KeeperRestarted' } : { recovered: true };
  return { execId: header.execId, ...told, journalSha256: hash.digest('hex') };
}

/** Whole lines of a file, where they end, and the last of them; a missing file has none. */
async function readWhole(file: string): Promise<{ readonly lines: number; readonly end: number; readonly last: string | null }> {
  let lines = 0;
  let end = 0;
  let last: string | null = null;
  try {
    for await (const line of readLines(file)) {
      if (!line.complete) break;
      lines += 1;
      end = line.offset + line.bytes.length + 1;
      last = line.bytes.subarray(0, 64).toString('utf8');
    }
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
  return { lines, end, last };
}
