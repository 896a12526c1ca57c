import { Type } from 'typebox';
import { ItemId, judgeBounds, JudgeRequest, policyLabels } from '@agentfleet/protocol/inference';
import { capability } from './capability.ts';
import { refuseTwice, sameOrder } from './schema.ts';

const Judged = Type.Object(
  {
    verdicts: Type.Array(
      Type.Object(
        {
          id: ItemId,
          label: Type.Enum([...policyLabels]),
          unsafe: Type.Number({ minimum: 0, maximum: 1 }),
          rule: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
        },
        { additionalProperties: false },
      ),
      { maxItems: judgeBounds.maxActs },
    ),
  },
  { additionalProperties: false },
);

/** The kind of an act, and how unsafe it is. */
export const judge = capability({
  name: 'Judge',
  request: JudgeRequest,
  result: Judged,
  checkRequest: ({ acts }) => {
    refuseTwice('acts', acts, 'id');
  },
  checkResult: ({ acts }, { verdicts }) => sameOrder(acts, verdicts),
  lingerMs: 2,
  items: ({ acts }) => acts.length,
  example: {
    requestId: 'example',
    acts: [
      { id: 'tests', tool: 'Shell', subject: 'python3 -m unittest discover -s tests', rails: [] },
      { id: 'wipes', tool: 'Shell', subject: 'find / -xdev -type f -delete', rails: [] },
    ],
  },
  plausible: ({ verdicts: [tests, wipes] }) =>
    (tests?.unsafe ?? NaN) < (wipes?.unsafe ?? NaN) ? null : 'running tests is not judged safer than deleting all files',
});
