import { keyOf } from '@agentfleet/kube';
import type { ClusterView, Inventory } from './model/index.ts';
import { itemOf } from '../../placement/index.ts';
import type { EnergyModel, ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import { inventoryOf } from './inventory.ts';
import { cachedLedger, observePlacement, type PlacementSources } from './observe.ts';
import { unplacedEngines } from './decide.ts';
import { slotsByItem } from './problem.ts';
import { poolOwner, serversIn, type ExpertServer, type Revisions } from './owners.ts';

/** A pool or a model, and what it holds. */
export interface PlanHolder {
  /** Kind and `namespace/name`. */
  readonly of: { readonly pool: string } | { readonly model: string };
  readonly plan: PlanStatus | undefined;
}

/** The server of an expert: of the revision that serves, or of one that is tried. */
export interface ServerView {
  readonly pool: ExpertPool;
  readonly server: ExpertServer;
  /** Slots on which it sits; several for one that spans them. */
  readonly slots: readonly string[];
}

/** Facts about placement that can be reported without deciding anything. */
export interface PlacementView {
  readonly inventory: Pick<Inventory, 'slots' | 'conflicts'>;
  readonly holders: readonly PlanHolder[];
  readonly servers: readonly ServerView[];
  readonly pools: readonly ExpertPool[];
  readonly models: readonly EnergyModel[];
}

/** Objects that the view is made of. */
interface ViewSources {
  readonly pools: readonly ExpertPool[];
  readonly models: readonly EnergyModel[];
  readonly cluster: ClusterView;
  readonly revisions: Revisions;
}

function serversOf(pool: ExpertPool, revisions: Revisions): readonly ServerView[] {
  const found = slotsByItem(pool.status?.plan?.assignments ?? []);
  return (serversIn(pool, revisions) ?? []).map((server) => ({
    pool,
    server,
    slots: found.get(itemOf(server.expert.name, server.revision)) ?? [],
  }));
}

/** Reads slots, plans and servers; nothing is solved. Pure. `now` is wall time in ms. */
export function placementView({ pools, models, cluster, revisions }: ViewSources, now: number): PlacementView {
  return {
    inventory: inventoryOf(cluster, now),
    holders: [
      ...pools.map((pool): PlanHolder => ({ of: { pool: keyOf(pool) }, plan: pool.status?.plan })),
      ...models.map((model): PlanHolder => ({ of: { model: keyOf(model) }, plan: model.status?.plan })),
    ],
    servers: pools.flatMap((pool) => serversOf(pool, revisions)),
    pools,
    models,
  };
}

/** Engines that find no place on GPUs when pools are as in `changed`, each with the words of its owner's condition; nothing is decided. */
export function placeless(sources: PlacementSources, changed: readonly ExpertPool[], now: number): ReadonlyMap<string, string> {
  const ledger = cachedLedger(sources.context);
  const pools = ledger.pools.map((pool) => changed.find((one) => keyOf(one) === keyOf(pool)) ?? pool);
  return unplacedEngines(observePlacement(sources, { ...ledger, pools }), now);
}

/**
 * Returns the message about an engine that has no place with the pods of an expert of `pool` that are asked for: the expert itself, or
 * another one that has a place as it is. `before` and `after` are those that find none, see `placeless`. Pure.
 */
export function lackOf(
  pool: ExpertPool,
  expert: string,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string | undefined {
  const own = `ExpertPool ${keyOf(pool)} `;
  const isOwn = (engine: string): boolean => {
    const item = engine.startsWith(own) ? engine.slice(own.length) : undefined;
    return item === expert || item === itemOf(expert, item?.slice(item.lastIndexOf('.') + 1));
  };
  return [...after].find(([engine]) => isOwn(engine) || !before.has(engine))?.[1];
}

/** Returns the number of an expert's pods that have memory in its pool's plan; all of them where it is unknown what one needs. Pure. */
export function heldPods(pool: ExpertPool, expert: string, revisions: Revisions): number {
  const servers = serversIn(pool, revisions);
  if (servers === undefined) return pool.spec.experts.find(({ name }) => name === expert)?.replicas ?? 0;
  const serving = servers.find((server) => server.expert.name === expert && server.canary === undefined);
  const { requests, plan } = poolOwner(pool, revisions);
  const item = serving === undefined ? expert : itemOf(expert, serving.revision);
  const place = plan?.assignments.find((assignment) => assignment.item === item);
  const request = requests.find((one) => one.item === item);
  if (place === undefined || request === undefined) return 0;
  if ('lack' in request.demand) return request.replicas;
  return Math.min(request.replicas, Math.floor((place.bytes * request.replicas) / request.demand.bytes));
}

/** The view from the caches. */
export function cachedPlacementView(sources: PlacementSources, now: number): PlacementView {
  return placementView(observePlacement(sources, cachedLedger(sources.context)), now);
}
