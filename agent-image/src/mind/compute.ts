import type { ComputeBrief, PoolBrief } from '@agentfleet/protocol/pool';

/** The compute settings of a task: its profile's, else those of `default`. Acceptance refuses unknown names. */
export function computeOf({ profiles }: Pick<PoolBrief, 'profiles'>, profile: string): ComputeBrief {
  const found = profiles[profile] ?? profiles['default'];
  if (found === undefined) throw new Error(`the brief has no profile ${profile} and none called default; the operator writes both`);
  return found;
}
