import fs from 'node:fs';
import { openAt } from '../base/atPath.ts';
import { errnoOf } from '../base/errors.ts';
import type { BytePath } from '../base/pathBytes.ts';
import type { ModeGuard } from './modeGuard.ts';

export const OWNER_READ = 0o400;

/** O_NONBLOCK: should a file have become a fifo, opening it must not wait for a writer. */
const OPEN_FLAGS = fs.constants.O_RDONLY | fs.constants.O_NONBLOCK;

/**
 * Opens a file for reading; null when we may not. A mode that forbids reading is widened for the moment of opening and
 * restored before this returns.
 */
export function openFile(abs: BytePath, mode: number, guard: ModeGuard, open = openAt): number | null {
  const closed = (mode & OWNER_READ) === 0;
  if (closed && !guard.widen(abs, mode, OWNER_READ)) return null;
  try {
    return open(abs, OPEN_FLAGS);
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') throw error;
    return null;
  } finally {
    if (closed) guard.shut(abs, mode);
  }
}
