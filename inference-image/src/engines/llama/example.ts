import { createHash } from 'node:crypto';
import type { Edit, PriorRequest } from '@agentfleet/protocol/inference';

const content = 'def add(a, b):\n    """Return the sum of a and b."""\n    return a - b\n';

function replace(before: string, after: string): Edit {
  const startByte = content.lastIndexOf(before);
  const expectedSha256 = createHash('sha256').update(content).digest('hex');
  return { path: 'add.py', range: { startByte, endByte: startByte + before.length }, before, after, expectedSha256 };
}

/** A request that any language model of code answers in one way: the sum is likelier than the power. */
export const example: PriorRequest = {
  requestId: 'prove',
  files: [{ path: 'add.py', content }],
  candidates: [
    { id: 'sum', edits: [replace('-', '+')] },
    { id: 'power', edits: [replace('-', '**')] },
  ],
  windowTokens: 8,
  budgetMillis: 60_000,
};
