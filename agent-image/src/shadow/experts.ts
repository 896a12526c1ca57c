import { generateBounds, type GenerateResponse } from '@agentfleet/protocol/inference';
import type { Experts } from '../attempt/ports.ts';
import type { Comparison } from './counts.ts';
import type { Mirror } from './mirror.ts';

/** Time beside the search's own budget, ms; as real requests have. */
const marginMs = 15_000;

/** Experts whose answered requests are copied; the answers are theirs. */
export function mirroredExperts(experts: Experts, mirror: Pick<Mirror, 'question'> | undefined): Experts {
  if (mirror === undefined) return experts;
  return {
    choose: (domain, weights) => experts.choose(domain, weights),
    generate: async (expert, request, signal) => {
      const question = mirror.question();
      const answer = await experts.generate(expert, request, signal).finally(() => question.end());
      const timeoutMillis = (request.budgetMillis ?? generateBounds.defaultBudgetMillis) + marginMs;
      question.copy({ part: expert, capability: 'Generate', request, timeoutMillis, compare: (shadow) => sameFirst(answer, shadow) });
      return answer;
    },
  };
}

/** The id of a candidate is a hash of what it changes. */
function sameFirst(stable: GenerateResponse, shadow: GenerateResponse): Comparison {
  const [mine, theirs] = [stable.candidates[0], shadow.candidates[0]];
  return mine === undefined || theirs === undefined ? {} : { sameCandidate: mine.id === theirs.id };
}
