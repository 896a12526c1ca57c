import { Type } from 'typebox';
import { Features, featureSet, ItemId, scoreBounds, ScoreRequest } from '@agentfleet/protocol/inference';
import { capability } from './capability.ts';
import { refuseTwice, sameOrder } from './schema.ts';

const Scored = Type.Object(
  {
    scores: Type.Array(
      Type.Object(
        {
          id: ItemId,
          energy: Type.Number(),
          model: Type.Number(),
          features: Type.Number(),
          pSuccess: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()]),
        },
        { additionalProperties: false },
      ),
      { maxItems: scoreBounds.maxItems },
    ),
    reads: Type.Array(Type.Enum(Object.keys(Features.properties) as (keyof Features)[]), { uniqueItems: true }),
    calibration: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  },
  { additionalProperties: false },
);

const tests = { testsTotal: 10, testsFailed: 0, testsFixed: 2, testsBroken: 0 };

/** Energies of acts. */
export const score = capability({
  name: 'Score',
  request: ScoreRequest,
  result: Scored,
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
