import { usualBounds, type BoundedTool } from '@agentfleet/protocol/chat';
import type { AttemptContext } from '../attempt/ports.ts';

type Said = Pick<AttemptContext, 'task' | 'pool'>;

/** Whether neither pool nor task denies a tool. Pure. */
export function isAllowed({ task, pool }: Said, name: string): boolean {
  return ![...(pool.tools?.deny ?? []), ...(task.spec.tools?.deny ?? [])].includes(name);
}

/** Most seconds of one call: what the task asks for, and never more than the pool allows, which may have less since. Pure. */
export function boundOf({ task, pool }: Said, tool: BoundedTool): number {
  const most = pool.tools?.timeouts[tool] ?? usualBounds[tool];
  return Math.min(task.spec.tools?.timeouts?.[tool] ?? most, most);
}
