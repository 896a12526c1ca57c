import { JudgeRequest, JudgeResponse } from '@agentfleet/protocol/inference';
import { capability } from './capability.ts';
import { refuseTwice, sameOrder } from './schema.ts';

/** The kind of an act, and how unsafe it is. */
export const judge = capability({
  name: 'Judge',
  request: JudgeRequest,
  response: JudgeResponse,
  checkRequest: ({ acts }) => refuseTwice('acts', acts, 'id'),
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
