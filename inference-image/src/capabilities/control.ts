import { ControlRequest, ControlResponse } from '@agentfleet/protocol/inference';
import { capability } from './capability.ts';
import { invalid, refuseTwice } from './schema.ts';

const isDistribution = (shares: readonly number[]): boolean => Math.abs(shares.reduce((sum, p) => sum + p, 0) - 1) < 1e-3;

/** The planner's control vector, from the steps so far. */
export const control = capability({
  name: 'Control',
  request: ControlRequest,
  response: ControlResponse,
  checkRequest: ({ experts, steps }) => {
    refuseTwice('experts', experts);
    const at = steps.findIndex(({ expert }) => expert >= experts.length);
    const field = `steps.${at}.expert`;
    if (at !== -1) throw invalid(field, `${field}: there are ${experts.length} experts, counted from 0`);
  },
  checkResult: ({ experts }, result) => {
    if (!isDistribution(result.experts.map(({ p }) => p))) return 'the shares of the experts do not sum to 1';
    const same = experts.length === result.experts.length && experts.every((name, at) => result.experts[at]?.name === name);
    return same ? null : 'the experts are not those of the request, in its order';
  },
  envelope: ({ shadow }) => ({ shadow }),
  items: ({ steps }) => steps.length,
  example: {
    requestId: 'example',
    experts: ['one', 'other'],
    steps: [
      {
        tool: 'Editor',
        result: 'Worse',
        expert: 0,
        edits: 1,
        testsFailing: 2,
        testsTotal: 5,
        testsFixed: 0,
        depth: 0,
        seconds: 1,
        budgetUsed: 0.1,
      },
    ],
  },
});
