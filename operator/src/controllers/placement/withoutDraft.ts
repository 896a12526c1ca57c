import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { demandOf, type Demand } from './demand.ts';

/** The same expert without its draft. */
export function undrafted(expert: Expert): Expert {
  const { speculative: _, ...rest } = expert;
  return rest;
}

const reckoned = (expert: Expert): Expert => ({
  ...expert,
  resources: { ...expert.resources, memory: { ...expert.resources?.memory, budget: 'Auto' } },
});

/**
 * What an expert needs on its GPU without the draft inside its engine: less by what that is reckoned to need. Undefined when it has none,
 * or when that is not known. Arguments as of {@link demandOf}. Pure.
 */
export function demandWithoutDraft(pool: ExpertPool, expert: Expert, asked = pool): Demand | undefined {
  if (expert.speculative === undefined || expert.engine.type !== 'VLLM') return undefined;
  const given = demandOf(pool, expert, asked);
  const whole = demandOf(pool, reckoned(expert), asked);
  const rest = demandOf(pool, reckoned(undrafted(expert)), asked);
  if ('lack' in given || 'lack' in whole || 'lack' in rest) return undefined;
  const bytes = given.bytes - (whole.bytes - rest.bytes);
  return bytes > 0 && bytes < given.bytes ? { bytes } : undefined;
}
