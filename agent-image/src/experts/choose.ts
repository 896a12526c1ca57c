import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../attempt/failure.ts';

/**
 * How well an expert fits a domain; null: not at all. The distances are small against what a planner may say, and large
 * enough that equal weights take a Specialist of the domain, then one for everything, then the Generalist.
 */
function fit({ role, domains, chat }: ExpertEndpoint, domain: string): number | null {
  // A chat model is asked by the tool loop: it makes no proposals.
  if (chat !== undefined) return null;
  const named = domains.includes(domain);
  if (role === 'Specialist') return named ? 1 : domains.includes('*') ? 0.8 : null;
  if (role === 'Generalist') return named ? 0.6 : 0.5;
  return null;
}

/**
 * The expert for a domain: the best product of how well it fits and the planner's weight.
 *
 * @param weights by name, from the control vector; absent, or a name without one: all alike
 */
export function chooseExpert(
  experts: readonly ExpertEndpoint[],
  domain: string,
  weights: Readonly<Record<string, number>> = {},
): ExpertEndpoint {
  let chosen: { readonly expert: ExpertEndpoint; readonly worth: number } | undefined;
  for (const expert of experts) {
    const fits = fit(expert, domain);
    if (fits === null) continue;
    const worth = fits * (weights[expert.name] ?? 1 / experts.length);
    if (chosen === undefined || worth > chosen.worth) chosen = { expert, worth };
  }
  if (chosen !== undefined) return chosen.expert;
  const message = `no expert of the pool answers for ${domain}; give spec.experts of the pool a Generalist`;
  throw new AttemptFailure('Infrastructure', 'NoExpert', message);
}
