import type { Expert } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { ranks, slotLabel } from '../../placement/index.ts';
import { monopodName } from '../../pools/names.ts';
import type { Pod } from '../../runtime/objects.ts';
import { resources } from '../../runtime/resources.ts';
import { enginePlaces, type EnginePlace } from '../../serving/index.ts';
import { monopodLack } from '../placement/monopod.ts';
import { needsGpu, rankOf } from '../placement/owners.ts';
import type { Manifest } from './manifests/manifest.ts';
import { monopodManifest, type MonopodExpert } from './manifests/monopod.ts';
import { identity } from './ownership.ts';
import type { PoolSnapshot } from './snapshot.ts';

type Planned = Pick<PoolSnapshot, 'pool' | 'rollout' | 'replays'>;

/** Experts that the plan puts into the one pod of their pool, those first that start first. Pure. */
export function monopodExperts({ pool, rollout, replays }: Planned): readonly MonopodExpert[] {
  const { plan } = pool.status ?? {};
  // Its engines have no revisions.
  if (plan?.mode !== 'Monopod' || rollout?.status !== undefined) return [];
  const seated = pool.spec.experts.filter(needsGpu).flatMap((expert): readonly MonopodExpert[] => {
    const place = plan.assignments.find(({ item, admitted }) => item === expert.name && admitted);
    const tape = expert.engine.type === 'Replay' ? replays.get(expert.engine.replay.configMap.name)?.hash : undefined;
    return place === undefined ? [] : [{ expert, slot: place.slot, replayHash: tape }];
  });
  const importance = ({ expert }: MonopodExpert): number => ranks.indexOf(rankOf[expert.role]);
  return [...seated].sort((a, b) => importance(b) - importance(a) || (a.expert.name < b.expert.name ? -1 : 1));
}

/** Whether an expert has no pods of its own. Pure. */
export function isInMonopod(snapshot: Planned, { name }: Expert): boolean {
  return monopodExperts(snapshot).some(({ expert }) => expert.name === name);
}

/** Where the engines in that pod answer. Pure. */
export function monopodPlaces(snapshot: Planned): ReadonlyMap<string, EnginePlace> {
  return enginePlaces(monopodExperts(snapshot).map(({ expert: { name }, slot }) => ({ name, slot })));
}

const ofBefore =
  (names: ReadonlySet<string>) =>
  ({ metadata }: Pod): boolean =>
    names.has(metadata.labels?.[labels.expert] ?? '') && metadata.annotations?.[slotLabel] !== undefined;

/**
 * The pod with all engines on GPUs. One whose recording is missing, or that cannot be in it any more, is not made, and not
 * changed when it is there; nor is there one before the pods that the engines had of their own are gone. Pure.
 */
export function monopodOf(snapshot: PoolSnapshot): readonly Manifest[] {
  const experts = monopodExperts(snapshot);
  if (experts.length === 0 || !isWhole(snapshot, experts)) return [];
  const { pool, images, pods } = snapshot;
  const waits = pods.some(ofBefore(new Set(experts.map(({ expert }) => expert.name))));
  return [monopodManifest(pool, images.inference, experts, waits ? 0 : 1)];
}

function isWhole({ pool }: PoolSnapshot, experts: readonly MonopodExpert[]): boolean {
  const silent = experts.some(({ expert: { engine }, replayHash }) => engine.type === 'Replay' && replayHash === undefined);
  return !silent && monopodLack(pool) === undefined;
}

/** What stays although it is not to be made now, as `group/plural/name`. Pure. */
export function keptMonopod(snapshot: PoolSnapshot): readonly string[] {
  const { pool } = snapshot;
  // Without a plan nobody has looked; an empty one ends it.
  const stays = pool.status?.plan === undefined || monopodExperts(snapshot).length > 0;
  return stays ? [identity(resources.deployments, monopodName(pool.metadata.name))] : [];
}
