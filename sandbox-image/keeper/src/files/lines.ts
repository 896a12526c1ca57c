import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { lookBounds, maxFileBytes, type FileLines, type LinesQuery } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../failure.ts';
import { readWhole } from './read.ts';

const newline = 0x0a;

/**
 * Lines of a text file inside the roots, whole and as they are. The caller holds the gate.
 * @throws KeeperError `AF_FILE_BINARY`, `AF_INVALID`, and those of reading
 */
export async function readLines(roots: readonly string[], query: LinesQuery): Promise<FileLines> {
  const [from, last] = [Number(query.from ?? 1), Number(query.to ?? Number.MAX_SAFE_INTEGER)];
  if (last < from) throw new KeeperError('AF_INVALID', `to: ${last} is before ${from}`);
  const content = await readWhole(roots, query.path, maxFileBytes);
  if (isBinary(content)) throw new KeeperError('AF_FILE_BINARY', `${query.path} is not UTF-8 text`);
  const sha256 = createHash('sha256').update(content).digest('hex');
  const { start, end, to, lines } = cut(content, from, last);
  const wanted = Math.min(last, lines);
  return { path: query.path, from, to, lines, sha256, text: content.toString('utf8', start, end), truncated: to < wanted };
}

/** Whether bytes are no text: a NUL, or not UTF-8. */
export function isBinary(content: Buffer): boolean {
  return content.includes(0) || !isUtf8(content);
}

interface Cut {
  readonly start: number;
  readonly end: number;
  /** The last line inside. */
  readonly to: number;
  readonly lines: number;
}

function cut(content: Buffer, from: number, last: number): Cut {
  let [start, end, to, lines] = [content.length, content.length, from - 1, 0];
  for (let at = 0; at < content.length;) {
    const found = content.indexOf(newline, at);
    const next = found === -1 ? content.length : found + 1;
    lines += 1;
    if (lines === from) [start, end] = [at, at];
    if (lines >= from && lines <= last && to === lines - 1 && next - start <= lookBounds.textBytes) [end, to] = [next, lines];
    at = next;
  }
  return { start, end, to, lines };
}
