import { createHash } from 'node:crypto';
import type { Edit, FocusFile } from '@agentfleet/protocol/inference';

/**
 * The edit that replaces one line by a reply; null when that changes nothing. A reply without indentation gets the
 * line's: a small model rarely keeps it.
 */
export function lineEdit({ path, content }: FocusFile, line: number, reply: string): Edit | null {
  const lines = content.split('\n');
  const before = lines[line - 1];
  if (before === undefined) return null;
  const indent = /^\s*/.exec(before)?.[0] ?? '';
  const text = reply.replace(/\s+$/, '');
  if (text === '') return null;
  const after = /^\s/.test(text) ? text : indent + text;
  if (after === before.replace(/\s+$/, '')) return null;
  const startByte = Buffer.byteLength(
    lines
      .slice(0, line - 1)
      .map((one) => `${one}\n`)
      .join(''),
  );
  return {
    path,
    range: { startByte, endByte: startByte + Buffer.byteLength(before) },
    before,
    after,
    expectedSha256: createHash('sha256').update(content).digest('hex'),
  };
}
