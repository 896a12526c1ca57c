import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { ItemId, priorBounds, PriorRequest } from '@agentfleet/protocol/inference';
import { capability } from './capability.ts';
import { refuseTwice, sameOrder } from './schema.ts';

const content = 'def add(a, b):\n    return a - b\n';
const range = { startByte: content.indexOf('-'), endByte: content.indexOf('-') + 1 };
const expectedSha256 = createHash('sha256').update(content).digest('hex');

const Prior = Type.Object(
  {
    scores: Type.Array(Type.Object({ id: ItemId, gainNats: Type.Union([Type.Number(), Type.Null()]) }, { additionalProperties: false }), {
      maxItems: priorBounds.maxCandidates,
    }),
    truncated: Type.Boolean(),
    tokens: Type.Integer({ minimum: 0 }),
    millis: Type.Number({ minimum: 0 }),
  },
  { additionalProperties: false },
);

/** Likelihood of candidates of others, by a language model. */
export const prior = capability({
  name: 'Prior',
  request: PriorRequest,
  result: Prior,
  checkRequest: ({ files, candidates }) => {
    refuseTwice(
      'files',
      'path',
      files.map(({ path }) => path),
    );
    refuseTwice(
      'candidates',
      'id',
      candidates.map(({ id }) => id),
    );
  },
  checkResult: ({ candidates }, { scores }) => sameOrder(candidates, scores),
  items: ({ candidates }) => candidates.length,
  example: {
    requestId: 'example',
    files: [{ path: 'add.py', content }],
    candidates: [{ id: 'plus', edits: [{ path: 'add.py', range, before: '-', after: '+', expectedSha256 }] }],
    windowTokens: 4,
    budgetMillis: 20_000,
  },
  plausible: ({ scores }) => (typeof scores[0]?.gainNats === 'number' ? null : 'it did not measure its example'),
});
