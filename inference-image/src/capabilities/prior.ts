import { PriorRequest, PriorResponse } from '@agentfleet/protocol/inference';
import { editOf } from '../base/engine.ts';
import { capability } from './capability.ts';
import { refuseTwice, sameOrder } from './schema.ts';

const file = { path: 'add.py', content: 'def add(a, b):\n    return a - b\n' };
const sign = file.content.indexOf('-');

/** Likelihood of candidates of others, by a language model. */
export const prior = capability({
  name: 'Prior',
  request: PriorRequest,
  response: PriorResponse,
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
