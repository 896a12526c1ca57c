import { createHash } from 'node:crypto';
import type { Candidate } from '@agentfleet/protocol/inference';

const hex = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A candidate that a test identifies by its operator: `name` replaces `old` at the beginning of `f.py`. */
export function candidate(name: string, change: Partial<Candidate> = {}): Candidate {
  return {
    id: `sha256:${hex(name)}`,
    rank: 1,
    score: 0.5,
    edits: [{ path: 'f.py', range: { startByte: 0, endByte: 3 }, before: 'old', after: name, expectedSha256: hex('old\n') }],
    operator: name,
    rationale: `writes ${name}`,
    location: { path: 'f.py', line: 1, column: 0 },
    ...change,
  };
}
