import type { ClusterView, Holder, Inventory, Owner, OwnerPlan } from './model/index.ts';
import { canonical, findCondition, mergeConditions, type Condition, type KubeObject } from '@agentfleet/kube';
import type { EnergyModel, ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import type { Pod } from '../../runtime/resources.ts';
import { admit, type ProgressOf } from './admit.ts';
import { claimsOf, surplusClaims, type ClaimManifest } from './claims.ts';
import { inventoryOf } from './inventory.ts';
import { staleOccupants, type Occupant } from './staleOccupants.ts';
import { inOrder, isConcerned, modelOwner, poolOwner } from './owners.ts';
import { planHash, planOwner } from './plan.ts';
import type { Presence } from './serve.ts';
import type { Revisions } from './servers.ts';
import { holderChanges, probeChanges, wantedHolders, type HolderChanges, type ProbeChanges } from './reserve/index.ts';
import { bookNews, writeProbes } from './slots.ts';
import { onWhatIsLeft } from './shrunk.ts';
import { placementWords } from './conditions.ts';

/** All that decisions about placement are made from. */
export interface PlacementSnapshot {
  readonly pools: readonly ExpertPool[];
  readonly models: readonly EnergyModel[];
  readonly cluster: ClusterView;
  /** Claims of ours, in all namespaces. */
  readonly claims: readonly KubeObject[];
  readonly progress: ProgressOf;
  readonly present: Presence;
  /** Who is on GPUs as the cluster shows it. */
  readonly occupants?: readonly Occupant[];
  /** Uids of pods that hold GPUs for engines that are still there. */
  readonly inUse: ReadonlySet<string>;
  /** The pod that asks a node for GPUs by environment. */
  readonly probe: Pod | undefined;
  readonly revisions: Revisions;
}

/** The part of a status that placement tells. */
export interface PlacementStatus {
  readonly plan?: PlanStatus;
  /** Of a dry run: items and their slots. */
  readonly proposed?: readonly string[];
  readonly conditions?: readonly Condition[];
}

export interface PlacementDecision {
  /** The bindings as they are to be written down; undefined: as they are. */
  readonly bindings: string | undefined;
  /** What is reported there of GPUs and lines that are not used; undefined: as it is. */
  readonly problems: string | undefined;
  readonly claims: readonly ClaimManifest[];
  readonly remove: readonly KubeObject[];
  /** Pods that hold GPUs of device plugins. */
  readonly holders: HolderChanges;
  /** The pod that asks a node for GPUs by environment. */
  readonly probe: Pick<ProbeChanges, 'make' | 'end'>;
  /** The answers of nodes as they are to be written down; undefined: as they are. */
  readonly probes: string | undefined;
  /** Owners in the order in which they are reported. */
  readonly statuses: readonly { readonly owner: Owner; readonly status: PlacementStatus; readonly moved: boolean }[];
}

const nobody: OwnerPlan = {
  plan: { hash: planHash(undefined, []), assignments: [] },
  unplaced: [],
  stuck: [],
  modeLack: undefined,
  ending: new Set(),
  asks: [],
};

/** Whether nothing is to be decided about it now. */
const isFixed = ({ going, unknown = false }: Owner): boolean => going || unknown;

interface Outcome extends OwnerPlan {
  readonly owner: Owner;
}

/** Plans one owner after another, each beside what all others hold at that moment. */
function planAll(owners: readonly Owner[], inventory: Inventory, present: Presence): readonly Outcome[] {
  const holders = new Map<string, Holder>(
    owners.map((owner) => [owner.key, { owner, assignments: owner.plan?.assignments ?? [], mode: owner.plan?.mode }]),
  );
  return owners.map((owner) => {
    if (isFixed(owner)) return { owner, ...nobody, plan: owner.plan ?? nobody.plan };
    const others = [...holders.values()].filter((holder) => holder.owner.key !== owner.key);
    const outcome =
      owner.wishes.length + (owner.plan?.assignments.length ?? 0) === 0 ? nobody : planOwner(owner, others, inventory, present);
    // A plan that is only proposed gives nothing away and takes nothing.
    const reported = { ...owner, plan: outcome.plan };
    if (!owner.dryRun) holders.set(owner.key, { owner: reported, assignments: outcome.plan.assignments, mode: outcome.plan.mode });
    return { owner, ...outcome };
  });
}

function statusOf({ owner, ...outcome }: Outcome, holder: Holder, inventory: Inventory, now: number): PlacementStatus {
  const conditions = mergeConditions(owner.object.status?.conditions, placementWords(owner, outcome, inventory), now);
  // A status whose conditions lack Ready says nothing to tools: its own controller comes first.
  const known = findCondition(owner.object.status?.conditions, 'Ready') !== undefined;
  const reported = conditions.length === 0 || !known ? {} : { conditions };
  if (owner.wishes.length + holder.assignments.length === 0) return reported;
  const force: PlanStatus | undefined = owner.dryRun ? owner.plan : { ...outcome.plan, assignments: [...holder.assignments] };
  return {
    ...(force === undefined ? {} : { plan: force }),
    ...(owner.dryRun ? { proposed: outcome.plan.assignments.map(({ item, slot }) => `${item} ${slot}`) } : {}),
    ...reported,
  };
}

/** What is written of a status now, to compare with what is to be. */
function presentOf({ object }: Owner): PlacementStatus {
  const { plan, conditions = [], ...rest } = object.status ?? {};
  const { proposed } = rest as Pick<PlacementStatus, 'proposed'>;
  const own = conditions.filter(({ type }) => type.startsWith('Placement'));
  return {
    ...(plan === undefined ? {} : { plan }),
    ...(proposed === undefined ? {} : { proposed }),
    ...(own.length === 0 ? {} : { conditions: own }),
  };
}

/** Whether two claims' owners are the same. */
function ownersOf(object: KubeObject): string {
  return canonical((object.metadata.ownerReferences ?? []).map(({ uid }) => uid).sort());
}

/** Where everybody's engines are to be. Pure: equal snapshots give equal decisions. `now` is wall time in ms. */
export function decidePlacement(snapshot: PlacementSnapshot, now: number): PlacementDecision {
  const { pools, models, cluster, claims: present } = snapshot;
  const owners = inOrder([...pools.map((pool) => poolOwner(pool, snapshot.revisions)), ...models.map(modelOwner)].filter(isConcerned));
  const inventory = inventoryOf(cluster, now);
  const outcomes = planAll(onWhatIsLeft(owners, inventory), inventory, snapshot.present);
  const planned = outcomes.map(({ owner, plan, ending }): Holder => ({
    owner,
    assignments: owner.dryRun ? (owner.plan?.assignments ?? []) : plan.assignments,
    mode: owner.dryRun ? owner.plan?.mode : plan.mode,
    ending,
  }));
  const holders = admit(planned, snapshot.progress, staleOccupants(snapshot.occupants ?? [], planned));
  const statuses = outcomes.flatMap((outcome, index) => {
    const holder = holders[index];
    if (holder === undefined || isFixed(outcome.owner)) return [];
    const status = statusOf(outcome, holder, inventory, now);
    const before = presentOf(outcome.owner);
    if (canonical(sorted(status)) === canonical(sorted(before))) return [];
    return [{ owner: outcome.owner, status, moved: canonical(status.plan ?? {}) !== canonical(before.plan ?? {}) }];
  });
  const wanted = claimsOf(holders, inventory);
  const there = new Map(present.map((claim) => [`${claim.metadata.namespace ?? ''}/${claim.metadata.name}`, claim]));
  const asked = outcomes.flatMap(({ owner, asks }) => (isFixed(owner) ? [] : asks));
  const { answers, ...probe } = probeChanges(asked, snapshot.probe, cluster.book.probes, cluster.nodes, now);
  return {
    ...bookNews(cluster.book, inventory),
    holders: holderChanges(wantedHolders(holders), cluster.holders, snapshot.inUse),
    probe,
    probes: answers === undefined ? undefined : writeProbes(answers),
    claims: wanted.filter((claim) => {
      const found = there.get(`${claim.metadata.namespace}/${claim.metadata.name}`);
      return found === undefined || ownersOf(found) !== ownersOf(claim);
    }),
    remove: surplusClaims(holders, present),
    statuses,
  };
}

/** The server orders conditions as it likes. */
function sorted({ conditions = [], ...rest }: PlacementStatus): PlacementStatus {
  return { ...rest, conditions: [...conditions].sort((a, b) => (a.type < b.type ? -1 : 1)) };
}
