import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import { usualBounds } from '@agentfleet/protocol/chat';

/** Why the pool does not let the task have the tools that it names; undefined when it does. Pure. */
export function toolsRefusal({ spec }: AgentTask, pool: ExpertPool): string | undefined {
  const of = `ExpertPool ${pool.metadata.namespace ?? ''}/${pool.metadata.name}`;
  for (const tool of ['bash', 'fetch'] as const) {
    const asked = spec.tools?.timeouts?.[tool];
    const most = pool.spec.tools?.timeouts?.[tool] ?? usualBounds[tool];
    if (asked === undefined || asked <= most) continue;
    return `spec.tools.timeouts.${tool} is ${asked}, and ${of} allows ${most} at most; create the task again with less, or raise spec.tools.timeouts.${tool} of the pool`;
  }
  return undefined;
}
