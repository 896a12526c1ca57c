import type { Owner, Wish } from './model/index.ts';
import { namedSlots, needsGpu, shardsOf } from '../../operands/index.ts';
import type { EnergyModel, Expert, ExpertPool } from '@agentfleet/protocol/api';
import { bytesOf, itemOf, type Rank, type Traffic } from '../../placement/index.ts';
import { isOpen } from '../../revisions/index.ts';
import { demandOf, modelDemand } from './demand.ts';
import { serversIn, type ExpertServer, type Revisions } from './servers.ts';

/** How important the engine of a role is. */
export const rankOf: Readonly<Record<Expert['role'], Rank>> = {
  Generalist: 'Core',
  Specialist: 'Specialist',
  Draft: 'Draft',
  Planner: 'Planner',
  Embedder: 'Planner',
  Policy: 'Planner',
};

/** How rules name the pods of the verifier. */
const verifierItem = 'EnergyModel';

const itemIn = ({ expert, revision }: ExpertServer): string => itemOf(expert.name, revision);

/** The slots that a spec names, as words that can be compared. */
const slotsNamed = (expert: Expert): string | undefined => expert.resources?.slot ?? namedSlots(expert)?.toSorted().join(' ');

function canaryOf({ spec }: ExpertPool, { expert, canary }: ExpertServer): Pick<Wish, 'canary'> {
  if (canary === undefined) return {};
  const { beside } = canary;
  const named = slotsNamed(expert);
  const elsewhere = named !== undefined && named !== (beside === undefined ? undefined : slotsNamed(beside.expert));
  return { canary: { beside: beside === undefined ? undefined : itemIn(beside), elsewhere, slot: spec.placement?.canarySlot } };
}

/** What the engine that serves needs beyond what was reckoned to hold what was asked for. A budget is what the user gives. */
function moreOf({ status }: ExpertPool, { expert, canary }: ExpertServer): Pick<Wish, 'more'> {
  const { estimated = 0, measured = 0 } = status?.experts?.find(({ name }) => name === expert.name)?.memory ?? {};
  const { engine, resources } = expert;
  const given = bytesOf(resources?.memory?.budget) ?? (engine.type === 'VLLM' ? bytesOf(engine.vLLM.kvCacheBytes) : undefined);
  if (canary !== undefined || given !== undefined || estimated <= 0 || measured <= estimated) return {};
  return { more: Math.ceil((measured * (measured - estimated)) / estimated) * expert.replicas };
}

/** A draft beside its target when the user says so; else it is an engine like others. Items that are in one group. */
function draftGroup(pool: ExpertPool, servers: readonly ExpertServer[]): ReadonlySet<string> {
  const serving = servers.filter(({ canary }) => canary === undefined);
  const target = serving.find(({ expert }) => expert.role === 'Generalist');
  const slot = target?.expert.resources?.slot;
  const drafts = serving.filter(({ expert }) => expert.role === 'Draft' && expert.resources?.slot === slot);
  if (target === undefined || slot === undefined || drafts.length === 0) return new Set();
  const items = [target, ...drafts].map(itemIn);
  // Revisions may have come up apart from each other.
  const held = new Set((pool.status?.plan?.assignments ?? []).filter(({ item }) => items.includes(item)).map((place) => place.slot));
  return held.size > 1 ? new Set() : new Set(items);
}

/** Of an engine that spans several GPUs. */
function spanOf(expert: Expert): Pick<Wish, 'shards' | 'slots'> {
  const shards = shardsOf(expert);
  const slots = namedSlots(expert);
  return shards === 1 ? {} : { shards, ...(slots === undefined ? {} : { slots }) };
}

function wishesOf(pool: ExpertPool, all: readonly ExpertServer[]): readonly Wish[] {
  const apart = new Map((pool.spec.placement?.antiAffinity ?? []).map(({ expert, from }) => [expert, from]));
  const servers = all.filter(({ expert }) => needsGpu(expert));
  const grouped = draftGroup(pool, servers);
  const itemsOf = (name: string): readonly string[] =>
    name === verifierItem ? [name] : servers.filter(({ expert }) => expert.name === name).map(itemIn);
  return servers.map((server) => {
    const { expert, revision, canary } = server;
    const { name, role, resources } = expert;
    const from = apart.get(name) ?? [];
    const item = itemIn(server);
    const own = { ...pool, spec: { ...pool.spec, experts: [...server.experts] } };
    return {
      item,
      demand: demandOf(own, expert, pool),
      replicas: expert.replicas,
      slot: resources?.slot,
      ...spanOf(expert),
      ...(revision === undefined ? {} : { stays: true }),
      ...canaryOf(pool, server),
      ...moreOf(pool, server),
      rank: canary === undefined ? rankOf[role] : 'Canary',
      latency: rankOf[role] === 'Planner' ? 'Tiny' : 'Decode',
      exclusive: from.includes('*'),
      group: grouped.has(item) ? 'draft' : undefined,
      apart: from.filter((other) => other !== '*').flatMap(itemsOf),
    };
  });
}

/** Who talks to whom: a draft and its target for every token, the verifier for every step. */
function trafficOf(wishes: readonly Wish[]): readonly Traffic[] {
  const drafts = wishes.filter(({ rank }) => rank === 'Draft');
  return drafts.flatMap((draft) =>
    wishes.filter(({ rank }) => rank === 'Core').map((core) => ({ a: draft.item, b: core.item, weight: 1 })),
  );
}

/** A pool as an owner of engines. */
export function poolOwner(pool: ExpertPool, revisions: Revisions): Owner {
  const { metadata, spec, status } = pool;
  const servers = serversIn(pool, revisions);
  const wishes = wishesOf(pool, servers ?? []);
  const { mode = 'Auto', nvlink = 'Preferred', dryRun = false } = spec.placement ?? {};
  const [namespace, name] = [metadata.namespace ?? '', metadata.name];
  return {
    key: `ExpertPool ${namespace}/${name}`,
    kind: 'ExpertPool',
    object: pool,
    namespace,
    name,
    wishes,
    traffic: trafficOf(wishes),
    mode,
    nvlink,
    dryRun,
    plan: status?.plan,
    going: metadata.deletionTimestamp !== undefined,
    ...(servers === undefined ? { unknown: true } : {}),
    verifier: spec.energyModelRef?.name,
  };
}

/** Whether the pods of a model need a GPU. */
export function modelNeedsGpu({ spec }: EnergyModel): boolean {
  const { slot, memory, replicas } = spec.resources;
  return replicas > 0 && (slot !== undefined || memory !== undefined);
}

/** The pods of a model: those that serve, and those of a revision that is tried. */
function modelWishes(model: EnergyModel): readonly Wish[] {
  const { metadata, spec, status } = model;
  const { slot, replicas } = spec.resources;
  const { name } = metadata;
  const common = { demand: modelDemand(model), replicas, slot, latency: 'Score', exclusive: false, group: undefined, apart: [] } as const;
  const rollout = spec.rolloutPolicyRef === undefined ? undefined : status?.rollout;
  const { stable, canary } = rollout ?? {};
  // The first revision is reported as a canary until it serves.
  const serving = stable ?? canary;
  const first: Wish = { ...common, item: itemOf(name, serving), rank: 'Verifier', ...(serving === undefined ? {} : { stays: true }) };
  if (!isOpen(rollout) || canary === undefined || canary === stable) return [first];
  const beside = { beside: first.item, elsewhere: false, slot: spec.resources.canarySlot };
  return [first, { ...common, item: itemOf(name, canary), stays: true, canary: beside, rank: 'Canary' }];
}

/** A model as an owner of engines. */
export function modelOwner(model: EnergyModel): Owner {
  const { metadata, status } = model;
  const [namespace, name] = [metadata.namespace ?? '', metadata.name];
  return {
    key: `EnergyModel ${namespace}/${name}`,
    kind: 'EnergyModel',
    object: model,
    namespace,
    name,
    wishes: modelNeedsGpu(model) ? modelWishes(model) : [],
    traffic: [],
    mode: 'Auto',
    nvlink: 'Preferred',
    dryRun: false,
    plan: status?.plan,
    going: metadata.deletionTimestamp !== undefined,
    verifier: undefined,
  };
}

/** Whether a pool or a model has to do with GPUs, or had. */
export function isConcerned({ wishes, plan, object }: Owner): boolean {
  const reported = object.status?.conditions?.some(({ type }) => type === 'PlacementFeasible' || type === 'PlacementConflict') === true;
  return wishes.length > 0 || plan !== undefined || reported;
}

/** Older ones are served first: who came later does not push them away. */
export function inOrder(owners: readonly Owner[]): readonly Owner[] {
  const age = ({ object, key }: Owner): string => `${object.metadata.creationTimestamp ?? '~'} ${key}`;
  return [...owners].sort((a, b) => (age(a) < age(b) ? -1 : 1));
}
