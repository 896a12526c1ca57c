import type { EnergyModel, RolloutStatus } from '@agentfleet/protocol/api';
import type { PoolBrief, ShadowBrief } from '@agentfleet/protocol/pool';
import { shadowOf, type NamedPolicy } from '../../../revisions/index.ts';

/** What the policies that are named say. */
export interface Policies {
  readonly own?: NamedPolicy | undefined;
  readonly judge?: NamedPolicy | undefined;
}

/** What a brief tells of revisions, and where its rollouts are. */
export interface ShadowInput {
  /** Undefined: the pool has no rollout. */
  readonly rollout: RolloutStatus | undefined;
  readonly energyModel: EnergyModel | undefined;
  /** Policies of the pool and of the model. */
  readonly policies?: Policies | undefined;
  readonly reported: Pick<PoolBrief, 'experts' | 'arms' | 'verifierArms'>;
}

/** Who gets copies of requests now, of the pool or of its model; nothing where nobody does. Pure. */
export function shadowBrief({ rollout, energyModel, policies = {}, reported }: ShadowInput): Pick<PoolBrief, 'shadow'> {
  const own = inShadow(rollout, policies.own);
  const arm = reported.arms?.find(({ revision }) => revision === own?.revision);
  if (own !== undefined && arm !== undefined) {
    // One that the stable revision has too has one server, and would get each request twice.
    const known = new Set(reported.experts.map(({ url }) => url));
    // A copy of a chat would cost money, and nobody reads it.
    const copied = arm.experts.filter(({ url, chat }) => !known.has(url) && chat === undefined);
    return { shadow: { ...own, experts: copied, verifier: null } };
  }
  const judge = inShadow(energyModel?.status?.rollout, policies.judge);
  const judging = reported.verifierArms?.find(({ revision }) => revision === judge?.revision);
  return judge === undefined || judging === undefined ? {} : { shadow: { ...judge, experts: [], verifier: judging.verifier } };
}

function inShadow(
  status: RolloutStatus | undefined,
  policy: NamedPolicy | undefined,
): Omit<ShadowBrief, 'experts' | 'verifier'> | undefined {
  const { phase, id, canary } = status ?? {};
  if (phase !== 'Shadowing' || id === undefined || canary === undefined || policy?.spec === undefined) return undefined;
  return { rollout: id, revision: canary, percent: shadowOf(policy.spec).percent, maxInFlight: 4 };
}
