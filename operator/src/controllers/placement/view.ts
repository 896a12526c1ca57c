import type { ClusterView, Inventory } from './model/index.ts';
import { itemOf } from '../../placement/index.ts';
import type { EnergyModel, ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import { inventoryOf } from './inventory.ts';
import { cachedLedger, observePlacement, type PlacementSources } from './observe.ts';
import { unplacedEngines } from './decide.ts';
import { slotsByItem } from './problem.ts';
import { serversIn, type ExpertServer, type Revisions } from './owners.ts';

/** A pool or a model, and what it holds. */
export interface PlanHolder {
  /** Kind and `namespace/name`. */
  readonly of: { readonly pool: string } | { readonly model: string };
  readonly plan: PlanStatus | undefined;
}

/** The server of an expert: of the revision that serves, or of one that is tried. */
export interface ServerView {
  readonly pool: string;
  readonly server: ExpertServer;
  /** Where it sits; several for one that spans them. */
  readonly slots: readonly string[];
}

/** What can be informed of placement without deciding anything. */
export interface PlacementView {
  readonly inventory: Pick<Inventory, 'slots' | 'conflicts'>;
  readonly holders: readonly PlanHolder[];
  readonly servers: readonly ServerView[];
  readonly pools: readonly ExpertPool[];
  readonly models: readonly EnergyModel[];
}

/** What the view is made of. */
interface ViewSources {
  readonly pools: readonly ExpertPool[];
  readonly models: readonly EnergyModel[];
  readonly cluster: ClusterView;
  readonly revisions: Revisions;
}

const keyOf = ({ metadata }: ExpertPool | EnergyModel): string => `${metadata.namespace ?? ''}/${metadata.name}`;

function serversOf(pool: ExpertPool, revisions: Revisions): readonly ServerView[] {
  const found = slotsByItem(pool.status?.plan?.assignments ?? []);
  return (serversIn(pool, revisions) ?? []).map((server) => {
    const slots = found.get(itemOf(server.expert.name, server.revision)) ?? [];
    return { pool: keyOf(pool), server, slots };
  });
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

/** The same from the caches. */
export function cachedPlacementView(sources: PlacementSources, now: number): PlacementView {
  return placementView(observePlacement(sources, cachedLedger(sources.context)), now);
}
