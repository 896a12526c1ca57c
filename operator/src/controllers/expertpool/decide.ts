import type { Expert } from '@agentfleet/protocol/api';
import { expertName } from '../../pools/names.ts';
import { resources } from '../../runtime/resources.ts';
import type { Child } from './children.ts';
import { workerAccess } from './manifests/access.ts';
import { briefConfigMap } from './manifests/brief.ts';
import { expertDeployment, expertService, imageOf } from './manifests/experts.ts';
import type { Manifest } from './manifests/manifest.ts';
import { artifactsVolume } from './manifests/storage.ts';
import { poolWalls } from './manifests/walls.ts';
import { workersBudget, workersDeployment } from './manifests/workers.ts';
import { identity, surplus, takenNames } from './ownership.ts';
import type { Replay } from './replay.ts';
import type { PoolSnapshot } from './snapshot.ts';

/** Something that stands in the way until somebody changes something. */
export interface Obstacle {
  readonly reason: string;
  readonly message: string;
  /** The expert that it concerns; undefined for the whole pool. */
  readonly expert?: string;
}

/** What is to be written for a pool. */
export interface PoolDecision {
  /** In the order in which they are made. */
  readonly apply: readonly Manifest[];
  readonly remove: readonly Child[];
  readonly obstacles: readonly Obstacle[];
}

function replayFor(expert: Expert, replays: PoolSnapshot['replays']): Replay | undefined {
  return expert.engine.type === 'Replay' ? replays.get(expert.engine.replay.configMap.name) : undefined;
}

/**
 * The Deployment of an expert. One whose recording or image is missing is not made, and not changed when it is there: its
 * pods still have what they started with.
 */
function deployment({ pool, images, replays }: PoolSnapshot, expert: Expert): readonly Manifest[] {
  const replay = replayFor(expert, replays);
  const image = imageOf(expert, images);
  if (image === undefined || (expert.engine.type === 'Replay' && replay?.hash === undefined)) return [];
  return [expertDeployment({ pool, expert, image, replayHash: replay?.hash })];
}

/** All objects of a pool in its own namespace. Pure. */
export function renderPool(snapshot: PoolSnapshot): readonly Manifest[] {
  const { pool, images, namespaces, energyModel, egress, operatorNamespace } = snapshot;
  const { experts } = pool.spec;
  const served = experts.filter((expert) => imageOf(expert, images) !== undefined);
  return [
    ...workerAccess(pool),
    briefConfigMap({ pool, namespaces, experts: served, energyModel, egress }),
    ...artifactsVolume(pool),
    ...poolWalls(pool, operatorNamespace),
    ...experts.map((expert) => expertService({ pool, expert })),
    ...experts.flatMap((expert) => deployment(snapshot, expert)),
    ...workersBudget(pool),
    workersDeployment(pool, images.agent),
  ];
}

function missingParts({ pool, replays, images }: PoolSnapshot): readonly Obstacle[] {
  return pool.spec.experts.flatMap((expert): readonly Obstacle[] => {
    if (expert.replicas > 0 && imageOf(expert, images) === undefined) {
      const message = 'the engine Llama has no image; set the chart value images.inferenceLlama, or remove the expert';
      return [{ reason: 'ImageNotSet', message, expert: expert.name }];
    }
    const replay = replayFor(expert, replays);
    if (replay === undefined || replay.hash !== undefined) return [];
    return [{ reason: replay.reason, message: replay.message, expert: expert.name }];
  });
}

/** What a pool is to consist of, and what of it is too much. Pure: equal snapshots give equal decisions. */
export function decidePool(snapshot: PoolSnapshot): PoolDecision {
  const { pool, children } = snapshot;
  const apply = renderPool(snapshot);
  const taken = takenNames(pool, apply, children);
  if (taken.length > 0) {
    const obstacles = taken.map((what) => ({ reason: 'NameTaken', message: `${what}; rename the pool or the expert` }));
    return { apply: [], remove: [], obstacles };
  }
  const kept = pool.spec.experts.filter(({ replicas }) => replicas > 0);
  const deployments = kept.map(({ name }) => identity(resources.deployments, expertName(pool.metadata.name, name)));
  return { apply, remove: surplus(pool, apply, children, deployments), obstacles: missingParts(snapshot) };
}
