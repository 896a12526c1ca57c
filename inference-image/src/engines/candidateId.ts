import { createHash } from 'node:crypto';
import type { Edit } from '@agentfleet/protocol/inference';

/** Id of a candidate: `sha256:` over its edits as canonical JSON, so that equal edits have equal ids. */
export function candidateId(edits: readonly Edit[]): string {
  const members = edits.map(({ path, range, before, after, expectedSha256 }) => [
    path,
    range.startByte,
    range.endByte,
    before,
    after,
    expectedSha256,
  ]);
  return `sha256:${createHash('sha256').update(JSON.stringify(members)).digest('hex')}`;
}
