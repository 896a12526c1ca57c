import { controllerOf, isControlledBy, keyOf, resourceName } from '@agentfleet/kube';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { expertName } from '../../pools/names.ts';
import { resources } from '../../runtime/resources.ts';
import type { Child } from './children.ts';
import { workerAccess } from './manifests/access.ts';
import { briefConfigMap } from './manifests/brief.ts';
import { expertDeployment, expertService } from './manifests/experts.ts';
import { homeOf, type Manifest } from './manifests/manifest.ts';
import { artifactsVolume } from './manifests/storage.ts';
import { poolWalls } from './manifests/walls.ts';
import { workersBudget, workersDeployment } from './manifests/workers.ts';
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

const identity = (resource: { readonly plural: string; readonly group: string }, name: string): string =>
  `${resource.group}/${resource.plural}/${name}`;

function replayFor(expert: Expert, replays: PoolSnapshot['replays']): Replay | undefined {
  return expert.engine.type === 'Replay' ? replays.get(expert.engine.replay.configMap.name) : undefined;
}

/**
 * The Deployment of an expert. One whose recording is missing is not made, and not changed when it is there: its pods
 * still have the recording that they started with.
 */
function deployment(snapshot: PoolSnapshot, expert: Expert): readonly Manifest[] {
  const { pool, images, replays } = snapshot;
  const replay = replayFor(expert, replays);
  if (expert.engine.type === 'Replay' && replay?.hash === undefined) return [];
  return [expertDeployment({ pool, expert, image: images.inference, replayHash: replay?.hash })];
}

/** All objects of a pool in its own namespace. Pure. */
export function renderPool(snapshot: PoolSnapshot): readonly Manifest[] {
  const { pool, images, namespaces } = snapshot;
  const { experts } = pool.spec;
  return [
    ...workerAccess(pool),
    briefConfigMap(pool, namespaces),
    ...artifactsVolume(pool),
    ...poolWalls(pool),
    ...experts.map((expert) => expertService({ pool, expert })),
    ...experts.flatMap((expert) => deployment(snapshot, expert)),
    ...workersBudget(pool),
    workersDeployment(pool, images.agent),
  ];
}

function missingRecordings({ pool, replays }: PoolSnapshot): readonly Obstacle[] {
  return pool.spec.experts.flatMap((expert) => {
    const replay = replayFor(expert, replays);
    if (replay === undefined || replay.hash !== undefined) return [];
    return [{ reason: replay.reason, message: replay.message, expert: expert.name }];
  });
}

/** A name that another owner has already: two pools whose names run into each other. */
function takenNames(pool: ExpertPool, wanted: readonly Manifest[], children: readonly Child[]): readonly Obstacle[] {
  const owners = new Map(children.map(({ resource, object }) => [identity(resource, object.metadata.name), object]));
  return wanted.flatMap(({ resource, object }) => {
    const present = owners.get(identity(resource, object.metadata.name));
    const owner = present === undefined ? undefined : controllerOf(present);
    if (present === undefined || owner === undefined || owner.uid === pool.metadata.uid) return [];
    const what = `${resourceName(resource)} ${keyOf(present)} belongs to ${owner.kind} ${owner.name}`;
    return [{ reason: 'NameTaken', message: `${what}; rename the pool or the expert` }];
  });
}

/** What a pool is to consist of, and what of it is too much. Pure: equal snapshots give equal decisions. */
export function decidePool(snapshot: PoolSnapshot): PoolDecision {
  const { pool, children } = snapshot;
  const manifests = renderPool(snapshot);
  const taken = takenNames(pool, manifests, children);
  if (taken.length > 0) return { apply: [], remove: [], obstacles: taken };
  const wanted = new Set(manifests.map(({ resource, object }) => identity(resource, object.metadata.name)));
  for (const expert of pool.spec.experts) wanted.add(identity(resources.deployments, expertName(pool.metadata.name, expert.name)));
  const remove = children.filter(
    ({ resource, object }) =>
      object.metadata.namespace === homeOf(pool) && isControlledBy(object, pool) && !wanted.has(identity(resource, object.metadata.name)),
  );
  return { apply: manifests, remove, obstacles: missingRecordings(snapshot) };
}
