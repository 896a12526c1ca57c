import { serverHash } from '../../../operands/index.ts';
import { controllerReference } from '@agentfleet/kube';
import type { ExpertPool, PlanStatus, RolloutStatus } from '@agentfleet/protocol/api';
import { poolRevision } from '../../../revisions/index.ts';
import type { ControllerRevision } from '../../../runtime/resources.ts';
import type { PlacementSnapshot } from '../decide.ts';
import { snapshot } from './box.ts';

const { images } = snapshot().revisions;

/** Revision of a pool's spec. */
export const revisionOfPool = (pool: ExpertPool): string =>
  poolRevision(pool.metadata.uid ?? '', pool.spec.experts, () => images.inference);

/** The hash in the name of an expert's pods, by the spec. */
export function hashIn({ spec }: ExpertPool, name: string): string {
  const expert = spec.experts.find((known) => known.name === name);
  if (expert === undefined) throw new RangeError(`no expert ${name}`);
  return serverHash({ experts: spec.experts, images }, expert);
}

/** The record of a pool's spec. */
export function recordOf(pool: ExpertPool): ControllerRevision {
  const revision = revisionOfPool(pool);
  return {
    metadata: { name: `p-${revision}`, namespace: pool.metadata.namespace ?? '', ownerReferences: [controllerReference(pool)] },
    revision: 1,
    data: { revision, experts: pool.spec.experts, images: { inference: images.inference } },
  };
}

/** The pool where its rollout is; `next` is its spec then. */
export function inRollout(pool: ExpertPool, next: Pick<ExpertPool, 'spec'>, rollout: Partial<RolloutStatus>): ExpertPool {
  return { ...pool, ...next, status: { ...pool.status, rollout } } as unknown as ExpertPool;
}

/** A world with another version of one pool, and records of all that it served. */
export function withPool(world: PlacementSnapshot, pool: ExpertPool, ...served: readonly ExpertPool[]): PlacementSnapshot {
  const others = world.pools.filter(({ metadata }) => metadata.name !== pool.metadata.name);
  const records = served.map(recordOf);
  return { ...world, pools: [...others, pool], revisions: { ...world.revisions, records } };
}

/** The plan of a pool of the world. */
export function planIn(world: PlacementSnapshot, name: string): PlanStatus {
  const plan = world.pools.find(({ metadata }) => metadata.name === name)?.status?.plan;
  if (plan === undefined) throw new RangeError(`pool ${name} has no plan`);
  return plan;
}
