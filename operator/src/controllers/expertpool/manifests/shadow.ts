import type { EnergyModel, ExpertPool, RolloutStatus } from '@agentfleet/protocol/api';
import type { PoolBrief, ShadowBrief } from '@agentfleet/protocol/pool';
import { shadowOf } from '../../../revisions/index.ts';

/** What a brief tells of revisions, and where its rollouts are. */
export interface ShadowInput {
  readonly pool: ExpertPool;
  /** Undefined: the pool has no rollout. */
  readonly rollout: RolloutStatus | undefined;
  readonly energyModel: EnergyModel | undefined;
  readonly reported: Pick<PoolBrief, 'experts' | 'arms' | 'verifierArms'>;
}

/** Who gets copies of requests now, of the pool or of its model; nothing where nobody does. Pure. */
export function shadowBrief({ pool, rollout, energyModel, reported }: ShadowInput): Pick<PoolBrief, 'shadow'> {
  const own = inShadow(rollout, pool.spec.rollout);
  const arm = reported.arms?.find(({ revision }) => revision === own?.revision);
  if (own !== undefined && arm !== undefined) {
    // One that the stable revision has too has one server, and would get each request twice.
    const known = new Set(reported.experts.map(({ url }) => url));
    // A copy of a chat would cost money, and nobody reads it.
    const copied = arm.experts.filter(({ url, chat }) => !known.has(url) && chat === undefined);
    return { shadow: { ...own, experts: copied, verifier: null } };
  }
  const judge = inShadow(energyModel?.status?.rollout, energyModel?.spec.rollout);
  const judging = reported.verifierArms?.find(({ revision }) => revision === judge?.revision);
  return judge === undefined || judging === undefined ? {} : { shadow: { ...judge, experts: [], verifier: judging.verifier } };
}

function inShadow(
  status: RolloutStatus | undefined,
  spec: ExpertPool['spec']['rollout'],
): Omit<ShadowBrief, 'experts' | 'verifier'> | undefined {
  const { phase, id, canary } = status ?? {};
  if (phase !== 'Shadowing' || id === undefined || canary === undefined || spec === undefined) return undefined;
  const { percent, maxInFlight } = shadowOf(spec);
  return { rollout: id, revision: canary, percent, maxInFlight };
}
