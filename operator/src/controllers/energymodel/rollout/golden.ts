import type { RolloutStatus } from '@agentfleet/protocol/api';
import type { GoldenArm } from '@agentfleet/protocol/golden';
import { labels } from '@agentfleet/protocol/pool';
import type { GoldenQuestion } from '../../../revisions/index.ts';
import type { Job } from '../../../runtime/objects.ts';
import { resources } from '../../../runtime/resources.ts';
import { verifierArms } from '../../expertpool/manifests/brief.ts';
import type { ModelSnapshot } from '../snapshot.ts';

/** What is asked of the golden sets of a model, apart from where its book lies and what its rollout says. */
export type ModelSets = Pick<GoldenQuestion, 'kind' | 'labels' | 'status' | 'ready' | 'arm' | 'jobs' | 'pods'>;

/** How golden sets find the revisions of a model: as its status tells where they answer. Pure. */
export function modelSets(snapshot: ModelSnapshot, ready: (revision: string) => boolean): ModelSets {
  const { model, children, goldenPods = [] } = snapshot;
  const { name, namespace = '' } = model.metadata;
  const status: RolloutStatus | undefined = model.status?.rollout;
  const arm = (revision: string, rollout: string): GoldenArm | undefined => {
    const found = verifierArms(model).verifierArms?.find((known) => known.revision === revision);
    if (found === undefined) return undefined;
    return { kind: 'EnergyModel', name, namespace, revision, rollout, experts: [], verifier: found.verifier };
  };
  return {
    kind: 'model',
    labels: { [labels.model]: name },
    status,
    ready,
    arm,
    jobs: children.flatMap(({ resource, object }) => (resource === resources.jobs ? [object as Job] : [])),
    pods: goldenPods,
  };
}
