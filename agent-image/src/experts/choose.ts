import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../attempt/failure.ts';

/** The expert for a domain: a Specialist that names it, a Specialist for everything, else the Generalist. */
export function chooseExpert(experts: readonly ExpertEndpoint[], domain: string): ExpertEndpoint {
  const knows = (role: ExpertEndpoint['role'], what: string) => (expert: ExpertEndpoint) =>
    expert.role === role && expert.domains.includes(what);
  const chosen =
    experts.find(knows('Specialist', domain)) ??
    experts.find(knows('Specialist', '*')) ??
    experts.find(knows('Generalist', domain)) ??
    experts.find((expert) => expert.role === 'Generalist');
  if (chosen !== undefined) return chosen;
  const message = `no expert of the pool answers for ${domain}; give spec.experts of the pool a Generalist`;
  throw new AttemptFailure('Infrastructure', 'NoExpert', message);
}
