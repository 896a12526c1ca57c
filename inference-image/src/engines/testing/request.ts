import { createHash } from 'node:crypto';
import type { Edit, FocusFile, GenerateRequest } from '@agentfleet/protocol/inference';

/** The edit that replaces the only `before` of a file. */
export function replacing({ path, content }: FocusFile, before: string, after: string): Edit {
  const at = content.indexOf(before);
  if (at === -1 || content.includes(before, at + 1)) throw new Error(`${path} does not hold ${before} exactly once`);
  const startByte = Buffer.byteLength(content.slice(0, at));
  const expectedSha256 = createHash('sha256').update(content).digest('hex');
  return { path, range: { startByte, endByte: startByte + Buffer.byteLength(before) }, before, after, expectedSha256 };
}

/** A request for candidates of one file. */
export function asking(file: FocusFile, more: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    requestId: 'test',
    role: 'Generalist',
    goal: 'Make the tests pass.',
    step: 0,
    grammar: 'Edit',
    files: [file],
    localisation: { spectrum: { passed: 0, failed: 0, lines: [] }, failingTests: [] },
    k: 2,
    maxEdits: 1,
    exclude: [],
    seed: 0,
    budgetMillis: 10_000,
    ...more,
  };
}
