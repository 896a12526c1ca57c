import { canonical, type KubeObject, type Predicate } from '@agentfleet/kube';
import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';

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
