import { createHash } from 'node:crypto';
import type { Edit, ShellAct } from '@agentfleet/protocol/inference';

/** Id of a candidate: `sha256:` over its edits as canonical JSON, and over its acts where it has any; equal ones have equal ids. */
export function candidateId(edits: readonly Edit[], acts: readonly ShellAct[] = []): string {
  const members = edits.map(({ path, range, before, after, expectedSha256 }) => [
    path,
    range.startByte,
    range.endByte,
    before,
    after,
    expectedSha256,
  ]);
  const whole = acts.length === 0 ? members : { edits: members, acts: acts.map(({ tool, command }) => [tool, command]) };
  return `sha256:${createHash('sha256').update(JSON.stringify(whole)).digest('hex')}`;
}
