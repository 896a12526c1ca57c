import { featureSet, ScoreRequest, ScoreResponse } from '@agentfleet/protocol/inference';
import { capability } from './capability.ts';
import { refuseTwice, sameOrder } from './schema.ts';

const tests = { testsTotal: 10, testsFailed: 0, testsFixed: 2, testsBroken: 0 };

/** Energies of acts. */
export const score = capability({
  name: 'Score',
  request: ScoreRequest,
  response: ScoreResponse,
  checkRequest: ({ items }) => refuseTwice('items', items, 'id'),
  checkResult: ({ items }, { scores }) => sameOrder(items, scores),
  lingerMs: 2,
  items: ({ items }) => items.length,
  example: {
    requestId: 'example',
    featureSet,
    items: [
      { id: 'mends', head: 'Code', text: '-    return a - b\n+    return a + b', operator: 'arithmetic', features: tests },
      {
        id: 'breaks',
        head: 'Code',
        text: '-    return a - b\n+    return a * b',
        operator: 'arithmetic',
        features: { ...tests, testsFailed: 9, testsFixed: 0, testsBroken: 7 },
      },
    ],
  },
  plausible: ({ scores: [mends, breaks] }) =>
    (mends?.energy ?? NaN) < (breaks?.energy ?? NaN) ? null : 'an edit that mends tests has no lower energy than one that breaks them',
});
