import { canonical, type KubeObject, type Predicate } from '@agentfleet/kube';
import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { resources } from '../runtime/resources.ts';
import { closedWall } from '../serving/index.ts';
import { ownedBy, type Manifest } from './manifest.ts';

type Planned = KubeObject & { readonly status?: Pick<NonNullable<ExpertPool['status'] & EnergyModel['status']>, 'plan' | 'conditions'> };

const reportedOf = ({ status }: Planned): string =>
  canonical({
    plan: status?.plan ?? null,
    words: (status?.conditions ?? [])
      .filter(({ type }) => type === 'PlacementFeasible')
      .map(({ status, reason, message }) => [status, reason, message]),
  });

/** The plan of a pool or a model changed, or what is reported about it. */
export const planChanged: Predicate<Planned> = (change) => change.type !== 'update' || reportedOf(change.old) !== reportedOf(change.object);

/** Component of pods that hold a GPU of the device plugin for others. */
export const holderComponent = 'gpu-holder';

/** The NetworkPolicy of the pods that hold GPUs of a device plugin for an owner, and for its neighbours in the namespace. Pure. */
export function holdersWall(owner: Planned, of: Parameters<typeof ownedBy>[2]): readonly Manifest[] {
  if (owner.status?.plan?.mode !== 'Reservation') return [];
  return [ownedBy(owner, resources.networkPolicies, of, { spec: closedWall({ [labels.component]: holderComponent }) })];
}
