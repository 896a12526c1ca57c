import fs from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from '../errors.ts';
import { syncDirectory, type LogEnd } from './segmentLog.ts';

/**
 * Where a collection left the log. A snapshot's own record of the end cannot say it: the records that a
 * collection has moved lie behind it. Absent before the first collection; `unknown` when the file is damaged.
 */
export function readLogEnd(path: string): LogEnd | 'unknown' | null {
  try {
    const { segment, offset } = JSON.parse(fs.readFileSync(path, 'utf8')) as Partial<LogEnd>;
    return Number.isSafeInteger(segment) && Number.isSafeInteger(offset) ? { segment: segment ?? 0, offset: offset ?? 0 } : 'unknown';
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    if (error instanceof SyntaxError) return 'unknown';
    throw error;
  }
}

/** Commits an end durably. What lies before it must be durable already. */
export function writeLogEnd(path: string, end: LogEnd): void {
  const temporary = `${path}.tmp`;
  const fd = fs.openSync(temporary, 'w', 0o600);
  try {
    fs.writeSync(fd, JSON.stringify(end));
    fs.fdatasyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
  fs.renameSync(temporary, path);
  syncDirectory(dirname(path));
}

/** The later of two ends; `unknown` when either is. */
export function laterEnd(a: LogEnd | 'unknown', b: LogEnd | 'unknown' | null): LogEnd | 'unknown' {
  if (b === null) return a;
  if (a === 'unknown' || b === 'unknown') return 'unknown';
  return b.segment > a.segment || (b.segment === a.segment && b.offset > a.offset) ? b : a;
}
