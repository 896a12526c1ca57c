import { createHash } from 'node:crypto';
import type { Edit } from '@agentfleet/protocol/inference';

/** Content of a file as it is; null where there is none. */
export type ReadBytes = (path: string) => Promise<Buffer | null>;

/** A file and what it will hold. `before` is null for a new file. */
export interface Rewrite {
  readonly path: string;
  readonly before: Buffer | null;
  readonly after: Buffer;
}

/** Why edits do not fit the files as they are. */
export class EditMismatch extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EditMismatch';
  }
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * What the files of a candidate will hold. A file that does not exist counts as empty, so an edit of it creates it.
 *
 * @throws EditMismatch when a file is not the one that the edits are for, or edits overlap
 */
export async function rewritesOf(edits: readonly Edit[], read: ReadBytes): Promise<readonly Rewrite[]> {
  const byPath = new Map<string, Edit[]>();
  for (const edit of edits) {
    const known = byPath.get(edit.path);
    if (known === undefined) byPath.set(edit.path, [edit]);
    else known.push(edit);
  }
  const rewrites: Rewrite[] = [];
  for (const [path, own] of byPath) {
    const before = await read(path);
    rewrites.push({ path, before, after: applied(path, before ?? Buffer.alloc(0), own) });
  }
  return rewrites;
}

function applied(path: string, before: Buffer, edits: readonly Edit[]): Buffer {
  const digest = sha256(before);
  const parts: Buffer[] = [];
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.range.startByte - b.range.startByte)) {
    const { startByte, endByte } = edit.range;
    if (edit.expectedSha256 !== digest) throw new EditMismatch(`${path} is not the file that the edit is for`);
    if (startByte < at || endByte < startByte || endByte > before.length) throw new EditMismatch(`${path}: edits overlap or lie outside`);
    if (before.toString('utf8', startByte, endByte) !== edit.before) throw new EditMismatch(`${path}: the range holds something else`);
    parts.push(before.subarray(at, startByte), Buffer.from(edit.after, 'utf8'));
    at = endByte;
  }
  return Buffer.concat([...parts, before.subarray(at)]);
}
