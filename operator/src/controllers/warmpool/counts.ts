import type { ExpertPoolStatus } from '@agentfleet/protocol/api';
import { isUnclaimed } from '../../pools/warm.ts';
import type { Pod } from '../../runtime/objects.ts';
import { sandboxState } from '../agenttask/sandboxState.ts';

/** Counts the sandboxes that were made ahead for one pool (index `warm` of the cache of pods); those that go count no more. Pure. */
export function warmCounts(pods: readonly Pod[]): NonNullable<ExpertPoolStatus['sandboxes']> {
  const present = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const waiting = present.filter(isUnclaimed);
  const warm = waiting.filter((pod) => sandboxState(pod, false).ready).length;
  return { warm, starting: waiting.length - warm, claimed: present.length - waiting.length };
}
