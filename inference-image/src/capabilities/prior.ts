import { Type } from 'typebox';
import { ItemId, priorBounds, PriorRequest } from '@agentfleet/protocol/inference';
import { editOf } from '../base/engine.ts';
import { capability } from './capability.ts';
import { refuseTwice, sameOrder } from './schema.ts';

const file = { path: 'add.py', content: 'def add(a, b):\n    return a - b\n' };
const sign = file.content.indexOf('-');

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
    refuseTwice('files', files, 'path');
    refuseTwice('candidates', candidates, 'id');
  },
  checkResult: ({ candidates }, { scores }) => sameOrder(candidates, scores),
  items: ({ candidates }) => candidates.length,
  example: {
    requestId: 'example',
    files: [file],
    candidates: [{ id: 'plus', edits: [editOf(file, sign, sign + 1, '+')] }],
    windowTokens: 4,
    budgetMillis: 20_000,
  },
  plausible: ({ scores }) => (typeof scores[0]?.gainNats === 'number' ? null : 'it did not measure its example'),
});
