import type { Expert, ExpertPool } from '@agentfleet/protocol/api';

const proposes = ({ role }: Expert): boolean => role === 'Generalist' || role === 'Specialist';

/**
 * Whether tasks cannot be done without an expert: it proposes. The others make the work better, and a pool goes on without
 * them and says so; so it does without a language model, unless nobody else is a Generalist. Pure.
 */
export function isEssential(pool: ExpertPool, expert: Expert): boolean {
  if (!proposes(expert)) return false;
  if (expert.engine.type !== 'Llama') return true;
  const other = pool.spec.experts.some(({ role, engine, replicas }) => role === 'Generalist' && engine.type !== 'Llama' && replicas > 0);
  return !other;
}
