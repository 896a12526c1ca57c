import type { ClusterView, Holder, Inventory, Owner, OwnerPlan, Assignment } from './model/index.ts';
import { canonical, conditionsFor, findCondition, type Condition, type KubeObject } from '@agentfleet/kube';
import type { EnergyModel, ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import { isOver, type Pod, type Deployment } from '../../runtime/resources.ts';
import { claimsOf, surplusClaims, type ClaimManifest } from './claims.ts';
import { bindingsToKeep, inventoryOf } from './inventory.ts';
import { inOrder, isConcerned, modelOwner, poolOwner, type Revisions } from './owners.ts';
import { planOwner } from './plan.ts';
import { onCordoned, type Presence } from './serve.ts';
import { holderChanges, probeChanges, wantedHolders, type HolderChanges, type ProbeChanges } from './reserve/index.ts';
import { bookNews, writeProbes } from './slots.ts';
import { placementWords } from './conditions.ts';
import { ranks, itemOf, slotLabel, valuesIn } from '../../placement/index.ts';
import { labels } from '@agentfleet/protocol/pool';
import { lacksHolder } from './problem.ts';
import { namedSlots, needsGpu } from '../../operands/index.ts';

/** All that decisions about placement are made from. */
export interface PlacementSnapshot {
  readonly pools: readonly ExpertPool[];
  readonly models: readonly EnergyModel[];
  readonly cluster: ClusterView;
  /** Claims of ours, in all namespaces. */
  readonly claims: readonly KubeObject[];
  readonly progress: ProgressOf;
  readonly present: Presence;
  /** Whether pods of an engine that have not ended are on the node of its slot. */
  readonly runs: Presence;
  /** Engines on GPUs, as the cluster shows them. */
  readonly occupants?: readonly Occupant[];
  /** Uids of pods that hold GPUs for engines that are still there. */
  readonly inUse: ReadonlySet<string>;
  /** The pod that asks a node for GPUs by environment. */
  readonly probe: Pod | undefined;
  readonly revisions: Revisions;
}

/** The part of a status that placement writes. */
export interface PlacementStatus {
  readonly plan?: PlanStatus;
  readonly conditions?: readonly Condition[];
}

export interface PlacementDecision {
  /** The bindings as they are to be written down; undefined: as they are. */
  readonly bindings: string | undefined;
  /** Report in the same ConfigMap on GPUs and lines that are not used; undefined: as it is. */
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
  plan: { assignments: [] },
  unplaced: [],
  stuck: [],
  skipped: [],
  modeLack: undefined,
  ending: new Set(),
  asks: [],
};

/** Reports whether nothing is to be decided about an owner now. */
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
      owner.requests.length + (owner.plan?.assignments.length ?? 0) === 0 ? nobody : planOwner(owner, others, inventory, present);
    const planned = { ...owner, plan: outcome.plan };
    holders.set(owner.key, { owner: planned, assignments: outcome.plan.assignments, mode: outcome.plan.mode });
    return { owner, ...outcome };
  });
}

function statusOf({ owner, ...outcome }: Outcome, holder: Holder, inventory: Inventory, now: number): PlacementStatus {
  const words = placementWords(owner, { ...outcome, waits: holder.waits ?? [] }, inventory);
  const conditions = conditionsFor(owner.object, words, now);
  // Tools read nothing in a status whose conditions lack Ready: its own controller comes first.
  const known = findCondition(owner.object.status?.conditions, 'Ready') !== undefined;
  const written = conditions.length === 0 || !known ? {} : { conditions };
  if (owner.requests.length + holder.assignments.length === 0) return written;
  return { plan: { ...outcome.plan, assignments: [...holder.assignments] }, ...written };
}

/** Returns the part of a status that is written now, to compare it with the one that is to be. */
function presentOf({ object }: Owner): PlacementStatus {
  const { plan, conditions = [] } = object.status ?? {};
  const own = conditions.filter(({ type }) => type.startsWith('Placement'));
  return {
    ...(plan === undefined ? {} : { plan }),
    ...(own.length === 0 ? {} : { conditions: own }),
  };
}

/** Returns the owners of an object as a text, which is the same for two claims of the same owners. */
function ownersOf(object: KubeObject): string {
  return canonical((object.metadata.ownerReferences ?? []).map(({ uid }) => uid).sort());
}

const unknownNeeds = 'the record of the revision that serves is not there, and nobody can say what its engines need: see RolloutHealthy';

/** Lists the engines of a pool of which it is unknown what they need, by their experts. */
function unknownEngines(pool: ExpertPool, revisions: Revisions): readonly (readonly [string, string])[] {
  const { key, unknown = false } = poolOwner(pool, revisions);
  return unknown ? pool.spec.experts.filter(needsGpu).map(({ name }) => [`${key} ${name}`, unknownNeeds] as const) : [];
}

interface Outcomes {
  readonly owners: readonly Owner[];
  readonly inventory: Inventory;
  readonly outcomes: readonly Outcome[];
}

/** Returns the plans of all owners. */
function outcomesOf({ pools, models, cluster, revisions, present, runs }: PlacementSnapshot, now: number): Outcomes {
  const inventory = inventoryOf(cluster, now);
  const concerned = [...pools.map((pool) => poolOwner(pool, revisions)), ...models.map(modelOwner)].filter(isConcerned);
  const owners = inOrder(concerned).map((owner) => onCordoned(owner, inventory, runs));
  return { owners, inventory, outcomes: planAll(onWhatIsLeft(owners, inventory), inventory, present) };
}

/** Engines without a place, or without one that is known to do, by owner and item, each with the words of its owner's condition. Pure. */
export function unplacedEngines(snapshot: PlacementSnapshot, now: number): ReadonlyMap<string, string> {
  const { pools, revisions } = snapshot;
  const { inventory, outcomes } = outcomesOf(snapshot, now);
  return new Map([
    ...pools.flatMap((pool) => unknownEngines(pool, revisions)),
    ...outcomes.flatMap(({ owner, ...outcome }) => {
      const message = placementWords(owner, outcome, inventory)[0]?.[1]?.message ?? '';
      return outcome.unplaced.map((item) => [`${owner.key} ${item}`, message] as const);
    }),
  ]);
}

/** Decides the places of all owners' engines. Pure: equal snapshots give equal decisions. `now` is wall time in ms. */
export function decidePlacement(snapshot: PlacementSnapshot, now: number): PlacementDecision {
  const { cluster, claims: present } = snapshot;
  const { owners, inventory, outcomes } = outcomesOf(snapshot, now);
  const planned = outcomes.map(({ owner, plan, ending }): Holder => ({
    owner,
    assignments: plan.assignments,
    mode: plan.mode,
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
    ...bookNews(cluster.book, { ...inventory, bindings: bindingsToKeep(inventory.bindings, cluster, slotsNamed(owners, snapshot)) }),
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

/** Slots that anybody names, or is on. */
function slotsNamed(owners: readonly Owner[], { pools, models, claims }: PlacementSnapshot): readonly string[] {
  const specs = [...pools.flatMap(({ spec }) => spec.experts), ...models.map(({ spec }) => spec)];
  return [
    ...specs.flatMap(({ resources }) => resources?.slot ?? []),
    ...pools.flatMap(({ spec }) => spec.experts.flatMap((expert) => namedSlots(expert) ?? [])),
    // Revisions that serve or are tried may name others than the spec.
    ...owners.flatMap(({ requests }) => requests.flatMap(({ slot = [], slots = [] }) => [slot, slots].flat())),
    ...owners.flatMap(({ plan }) => (plan?.assignments ?? []).map(({ slot }) => slot)),
    ...claims.flatMap(({ metadata }) => metadata.annotations?.[slotLabel] ?? []),
  ];
}

/** The server orders conditions as it likes. */
function sorted({ conditions = [], ...rest }: PlacementStatus): PlacementStatus {
  return { ...rest, conditions: [...conditions].sort((a, b) => (a.type < b.type ? -1 : 1)) };
}

/** Returns the importance of an engine; one that is no longer asked for has the least. */
function worth({ requests }: Owner, { item }: Assignment): number {
  const rank = requests.find((request) => request.item === item)?.rank;
  return rank === undefined ? -1 : ranks.indexOf(rank);
}

/** Tenants of slots that have less memory than before, as far as it is not enough for them: the least important, and who came last. */
function tooMuch(owners: readonly Owner[], { slots }: Inventory): ReadonlySet<Assignment> {
  const tenants = owners.flatMap((owner, age) =>
    (owner.plan?.assignments ?? []).map((assignment) => ({ assignment, age, worth: worth(owner, assignment) })),
  );
  const out = new Set<Assignment>();
  for (const { name, usableBytes, fault } of slots) {
    if (fault !== undefined) continue;
    let left = usableBytes;
    const here = tenants.filter(({ assignment }) => assignment.slot === name).sort((a, b) => b.worth - a.worth || a.age - b.age);
    for (const { assignment } of here) {
      if (assignment.bytes > left) out.add(assignment);
      else left -= assignment.bytes;
    }
  }
  return out;
}

/** Owners as they are when a slot has shrunk: without the places that are not there any more. In the order in which they came. Pure. */
function onWhatIsLeft(owners: readonly Owner[], inventory: Inventory): readonly Owner[] {
  const out = tooMuch(owners, inventory);
  if (out.size === 0) return owners;
  return owners.map((owner) => {
    const { plan } = owner;
    if (plan === undefined || !plan.assignments.some((assignment) => out.has(assignment))) return owner;
    const items = new Set(plan.assignments.filter((assignment) => out.has(assignment)).map(({ item }) => item));
    return { ...owner, hit: true, plan: { ...plan, assignments: plan.assignments.filter(({ item }) => !items.has(item)) } };
  });
}

/** An engine that has pods on a slot, or a Deployment that makes them there. */
export interface Occupant {
  /** As `Owner.key`. */
  readonly owner: string;
  readonly item: string;
  readonly slot: string;
}

type Marked = { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } } | undefined;

/** `object` carries the labels of an engine, `marked` the annotations of its pods. */
function occupantsIn({ metadata }: KubeObject, marked: Marked): readonly Occupant[] {
  const { labels: own = {}, namespace = '' } = metadata;
  const [model, pool, revision] = [own[labels.model], own[labels.pool], own[labels.revision]];
  const slots = valuesIn(marked?.metadata?.annotations?.[slotLabel]);
  if (model !== undefined)
    return slots.map((slot) => ({ owner: `EnergyModel ${namespace}/${model}`, item: itemOf(model, revision), slot }));
  if (pool === undefined) return [];
  const owner = `ExpertPool ${namespace}/${pool}`;
  const expert = own[labels.expert];
  return expert === undefined ? [] : slots.map((slot) => ({ owner, item: itemOf(expert, revision), slot }));
}

/**
 * Engines that are on GPUs as the cluster shows it, whatever plans say. Pods that have ended and pods that hold a GPU for
 * others are none; of engines that share a pod the device plugin keeps the GPUs. Pure.
 */
export function occupantsOf(pods: readonly Pod[], deployments: readonly Deployment[]): readonly Occupant[] {
  return [
    ...pods.flatMap((pod) => (isOver(pod) ? [] : occupantsIn(pod, pod))),
    ...deployments.flatMap((found) => (found.spec?.replicas === 0 ? [] : occupantsIn(found, found.spec?.template))),
  ];
}

/** Slots with a tenant that no plan has there any more: one that moved and is not gone, or whose pool was deleted. Pure. */
export function staleOccupants(occupants: readonly Occupant[], holders: readonly Holder[]): ReadonlySet<string> {
  const keyOf = ({ owner, item, slot }: Occupant): string => `${owner} ${item} ${slot}`;
  const planned = new Set(
    holders.flatMap(({ owner, assignments }) => assignments.map(({ item, slot }) => keyOf({ owner: owner.key, item, slot }))),
  );
  return new Set(occupants.filter((occupant) => !planned.has(keyOf(occupant))).map(({ slot }) => slot));
}

/** Progress of the pods of an engine on its slot. Stalled: they do not get on, and no other engine waits for them. */
export type Progress = 'Absent' | 'Starting' | 'Ready' | 'Stalled';

export type ProgressOf = (owner: Owner, assignment: Assignment) => Progress;

/** An engine with its slots, one for each GPU that shares its weights. */
interface Tenant {
  readonly holder: Holder;
  readonly item: string;
  readonly assignments: readonly Assignment[];
}

function tenantsOf(holder: Holder): readonly Tenant[] {
  const items = [...new Set(holder.assignments.map(({ item }) => item))];
  return items.map((item) => ({ holder, item, assignments: holder.assignments.filter((assignment) => assignment.item === item) }));
}

function orderOf({ holder, item }: Tenant): string {
  const request = holder.owner.requests.find((known) => known.item === item);
  const importance = ranks.length - ranks.indexOf(request?.rank ?? 'Canary');
  return `${String(importance).padStart(2, '0')} ${holder.owner.key} ${item}`;
}

/**
 * Lets engines of one GPU start one after another: each measures the free memory when it loads, and two at once take it
 * from each other. The more important ones go first; the next one when all that may start are ready or do not get on. One on
 * several GPUs starts when all of them are free, and keeps those that are for itself until then. On a slot of `stale` no engine
 * starts: the memory of an engine that moved away or was deleted is free when its pods are gone. Pure.
 */
export function admit(holders: readonly Holder[], progress: ProgressOf, stale: ReadonlySet<string> = new Set()): readonly Holder[] {
  const tenants = holders.flatMap(tenantsOf);
  const admitted = new Set<Assignment>();
  const busy = new Map<string, Tenant | undefined>([...stale].map((slot) => [slot, undefined]));
  for (const tenant of tenants) for (const slot of busySlots(tenant, progress)) busy.set(slot, tenant);
  const taken = new Set(busy.keys());
  const waits = new Map<string, readonly string[]>();
  const waiting = tenants.filter((tenant) => mayStart(tenant));
  for (const { assignments, holder, item } of waiting.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))) {
    const { key } = holder.owner;
    if (assignments.every(({ slot }) => !taken.has(slot))) for (const assignment of assignments) admitted.add(assignment);
    const kept = assignments.filter(({ slot }) => busy.has(slot));
    const before = kept.map(({ slot }) => waitOf(holder.owner, item, slot, busy.get(slot)));
    waits.set(key, [...(waits.get(key) ?? []), ...before]);
    for (const { slot } of assignments) taken.add(slot);
  }
  return holders.map(({ assignments, ...holder }) => ({
    ...holder,
    waits: waits.get(holder.owner.key) ?? [],
    assignments: assignments.map((assignment) => (admitted.has(assignment) ? { ...assignment, admitted: true } : assignment)),
  }));
}

/**
 * Returns what an engine waits for on a slot: its turn, or (`before` undefined) pods that left it. Names of another namespace are not its
 * owner's to read.
 */
function waitOf({ namespace }: Owner, item: string, slot: string, before: Tenant | undefined): string {
  if (before === undefined) return `${item} starts when the pods of an engine that left ${slot} are gone`;
  const { owner } = before.holder;
  const who = owner.namespace === namespace ? `${before.item} of ${owner.key}` : 'an engine of another namespace';
  return `${item} starts after ${who} on ${slot}`;
}

/** One that is asked to end starts no more, and one whose GPU is not held waits. */
function mayStart({ holder: { ending, mode }, item, assignments }: Tenant): boolean {
  return ending?.has(item) !== true && assignments.every((assignment) => !assignment.admitted && !lacksHolder(mode, assignment));
}

/** Slots on which an engine starts. */
function busySlots({ holder, assignments }: Tenant, progress: ProgressOf): readonly string[] {
  const starts = assignments.some((assignment) => assignment.admitted && isBusy(progress(holder.owner, assignment)));
  return starts ? assignments.map(({ slot }) => slot) : [];
}

/** Absent: it was let go and its pods are not seen yet. */
function isBusy(progress: Progress): boolean {
  return progress === 'Absent' || progress === 'Starting';
}
