import type { KubeObject } from '@agentfleet/kube';
import type { EnergyModel, Expert, ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import type { LatencyClass, Mode, NvlinkRule, Rank, Traffic } from '../../placement/index.ts';
import { demandOf, modelDemand, type Demand } from './demand.ts';

/** An engine that is to sit on a GPU. */
export interface Wish {
  readonly item: string;
  readonly demand: Demand;
  /** Its pods. */
  readonly replicas: number;
  readonly slot: string | undefined;
  readonly rank: Rank;
  readonly latency: LatencyClass;
  readonly exclusive: boolean;
  readonly group: string | undefined;
  /** Items of the same owner, and `EnergyModel`. */
  readonly apart: readonly string[];
}

/** A pool or a model whose engines sit on GPUs. */
export interface Owner {
  /** Kind, namespace and name: the order in which owners are served when they are of one age. */
  readonly key: string;
  readonly kind: 'ExpertPool' | 'EnergyModel';
  readonly object: KubeObject & { readonly status?: ExpertPool['status'] | EnergyModel['status'] };
  readonly namespace: string;
  readonly name: string;
  readonly wishes: readonly Wish[];
  readonly traffic: readonly Traffic[];
  readonly mode: Mode | 'Auto';
  readonly nvlink: NvlinkRule;
  readonly dryRun: boolean;
  readonly allowUnaccounted: boolean;
  /** The plan in force. */
  readonly plan: PlanStatus | undefined;
  readonly going: boolean;
  /** Of a pool: the verifier that it names. */
  readonly verifier: string | undefined;
}

const rankOf: Readonly<Record<Expert['role'], Rank>> = {
  Generalist: 'Core',
  Specialist: 'Specialist',
  Draft: 'Draft',
  Planner: 'Planner',
  Embedder: 'Planner',
  Policy: 'Planner',
};

/** Whether an expert has pods of its own that need a GPU. */
export function needsGpu({ engine, resources, replicas }: Expert): boolean {
  if (replicas === 0 || engine.type === 'Adapter') return false;
  return engine.type === 'VLLM' || resources?.slot !== undefined || resources?.memory !== undefined;
}

function wishesOf(pool: ExpertPool): readonly Wish[] {
  const apart = new Map((pool.spec.placement?.antiAffinity ?? []).map(({ expert, from }) => [expert, from]));
  const experts = pool.spec.experts.filter(needsGpu);
  const target = experts.find(({ role }) => role === 'Generalist');
  return experts.map((expert) => {
    const { name, role, resources } = expert;
    const from = apart.get(name) ?? [];
    // A draft beside its target when the user says so; else it is an engine like others.
    const joined = role === 'Draft' && target?.resources?.slot !== undefined && target.resources.slot === resources?.slot;
    const hosts = expert === target && experts.some((other) => other.role === 'Draft' && other.resources?.slot === resources?.slot);
    return {
      item: name,
      demand: demandOf(pool, expert),
      replicas: expert.replicas,
      slot: resources?.slot,
      rank: rankOf[role],
      latency: rankOf[role] === 'Planner' ? 'Tiny' : 'Decode',
      exclusive: from.includes('*'),
      group: (joined || hosts) && resources?.slot !== undefined ? 'draft' : undefined,
      apart: from.filter((other) => other !== '*'),
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
export function poolOwner(pool: ExpertPool): Owner {
  const { metadata, spec, status } = pool;
  const wishes = wishesOf(pool);
  const { mode = 'Auto', nvlink = 'Preferred', dryRun = false, allowUnaccounted = false } = spec.placement ?? {};
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
    allowUnaccounted,
    plan: status?.plan,
    going: metadata.deletionTimestamp !== undefined,
    verifier: spec.energyModelRef?.name,
  };
}

/** A model as an owner of one engine. */
export function modelOwner(model: EnergyModel): Owner {
  const { metadata, spec, status } = model;
  const { slot, memory, replicas } = spec.resources;
  const [namespace, name] = [metadata.namespace ?? '', metadata.name];
  const wanted = replicas > 0 && (slot !== undefined || memory !== undefined);
  const wish: Wish = {
    item: name,
    demand: modelDemand(model),
    replicas,
    slot,
    rank: 'Verifier',
    latency: 'Score',
    exclusive: false,
    group: undefined,
    apart: [],
  };
  return {
    key: `EnergyModel ${namespace}/${name}`,
    kind: 'EnergyModel',
    object: model,
    namespace,
    name,
    wishes: wanted ? [wish] : [],
    traffic: [],
    mode: 'Auto',
    nvlink: 'Preferred',
    dryRun: false,
    allowUnaccounted: false,
    plan: status?.plan,
    going: metadata.deletionTimestamp !== undefined,
    verifier: undefined,
  };
}

/** Whether a pool or a model has to do with GPUs, or had. */
export function isConcerned({ wishes, plan, object }: Owner): boolean {
  const told = object.status?.conditions?.some(({ type }) => type === 'PlacementFeasible' || type === 'PlacementConflict') === true;
  return wishes.length > 0 || plan !== undefined || told;
}

/** Older ones are served first: who came later does not push them away. */
export function inOrder(owners: readonly Owner[]): readonly Owner[] {
  const age = ({ object, key }: Owner): string => `${object.metadata.creationTimestamp ?? '~'} ${key}`;
  return [...owners].sort((a, b) => (age(a) < age(b) ? -1 : 1));
}
