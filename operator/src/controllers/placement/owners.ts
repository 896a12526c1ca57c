import type { Owner, PlacementRequest, Demand } from './model/index.ts';
import {
  adaptersOn,
  namedSlots,
  needsGpu,
  shardsOf,
  adapterRoom,
  artifactName,
  draftOf,
  imageOf,
  recordedArms,
  serverHash,
  weightsOf,
} from '../../operands/index.ts';
import type { EnergyModel, Expert, ExpertPool } from '@agentfleet/protocol/api';
import {
  bytesOf,
  itemOf,
  type Rank,
  type Traffic,
  estimateEngine,
  type Adapters,
  type Architecture,
  type EngineDemand,
} from '../../placement/index.ts';
import { isOpen, poolRevision, servingArms } from '../../revisions/index.ts';
import { indivisible } from './problem.ts';
import type { KubeObject } from '@agentfleet/kube';
import type { Images } from '../../runtime/context.ts';
import type { ControllerRevision } from '../../runtime/resources.ts';

/** Rank of the engine of each role. */
export const rankOf: Readonly<Record<Expert['role'], Rank>> = {
  Generalist: 'Core',
  Specialist: 'Specialist',
  Draft: 'Draft',
  Planner: 'Planner',
  Embedder: 'Planner',
  Policy: 'Planner',
};

/** Name of the pods of the verifier in rules. */
const verifierItem = 'EnergyModel';

const itemIn = ({ expert, revision }: ExpertServer): string => itemOf(expert.name, revision);

/** The slots that a spec names, as words that can be compared. */
const slotsNamed = (expert: Expert): string | undefined => expert.resources?.slot ?? namedSlots(expert)?.toSorted().join(' ');

function canaryOf({ expert, canary }: ExpertServer): Pick<PlacementRequest, 'canary'> {
  if (canary === undefined) return {};
  const { beside } = canary;
  const named = slotsNamed(expert);
  const elsewhere = named !== undefined && named !== (beside === undefined ? undefined : slotsNamed(beside.expert));
  return { canary: { beside: beside === undefined ? undefined : itemIn(beside), elsewhere } };
}

/** Returns the memory that the serving engine needs beyond the estimate for what was asked for; none where the user gives a budget. */
function moreOf({ status }: ExpertPool, { expert, canary }: ExpertServer): Pick<PlacementRequest, 'more'> {
  const { estimated = 0, measured = 0 } = status?.experts?.find(({ name }) => name === expert.name)?.memory ?? {};
  const { engine, resources } = expert;
  const given = bytesOf(resources?.memory?.budget) ?? (engine.type === 'VLLM' ? bytesOf(engine.vLLM.kvCacheBytes) : undefined);
  if (canary !== undefined || given !== undefined || estimated <= 0 || measured <= estimated) return {};
  return { more: Math.ceil((measured * (measured - estimated)) / estimated) * expert.replicas };
}

/** A draft beside its target when the user asks for it; else it is an engine like others. Items that are in one group. */
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
function spanOf(expert: Expert): Pick<PlacementRequest, 'shards' | 'slots'> {
  const shards = shardsOf(expert);
  const slots = namedSlots(expert);
  return shards === 1 ? {} : { shards, ...(slots === undefined ? {} : { slots }) };
}

/** Of an engine that reads the pool's volume of weights, when one node at a time mounts it. */
function boundOf(pool: ExpertPool, expert: Expert): Pick<PlacementRequest, 'bound'> {
  const { modelCache, experts } = pool.spec;
  const isFetched = weightsOf(pool, [expert, ...adaptersOn(experts, expert.name)]).some(({ fetched }) => fetched);
  return isFetched && modelCache?.accessMode !== 'ReadWriteMany' ? { bound: true } : {};
}

function requestsOf(pool: ExpertPool, all: readonly ExpertServer[]): readonly PlacementRequest[] {
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
      ...boundOf(own, expert),
      ...(revision === undefined ? {} : { stays: true }),
      ...canaryOf(server),
      ...moreOf(pool, server),
      rank: canary === undefined ? rankOf[role] : 'Canary',
      latency: rankOf[role] === 'Planner' ? 'Tiny' : 'Decode',
      exclusive: from.includes('*'),
      group: grouped.has(item) ? 'draft' : undefined,
      apart: from.filter((other) => other !== '*').flatMap(itemsOf),
    };
  });
}

/** Returns the traffic between engines: of a draft and its target, for every token. */
function trafficOf(requests: readonly PlacementRequest[]): readonly Traffic[] {
  const drafts = requests.filter(({ rank }) => rank === 'Draft');
  return drafts.flatMap((draft) =>
    requests.filter(({ rank }) => rank === 'Core').map((core) => ({ a: draft.item, b: core.item, weight: 1 })),
  );
}

/** Fields of an owner that its object alone tells. */
function ownerOf(
  kind: Owner['kind'],
  object: ExpertPool | EnergyModel,
): Pick<Owner, 'key' | 'kind' | 'object' | 'namespace' | 'name' | 'plan' | 'going'> {
  const { name, namespace = '', deletionTimestamp } = object.metadata;
  const key = `${kind} ${namespace}/${name}`;
  return { key, kind, object, namespace, name, plan: object.status?.plan, going: deletionTimestamp !== undefined };
}

/** A pool as an owner of engines. */
export function poolOwner(pool: ExpertPool, revisions: Revisions): Owner {
  const { placement, energyModelRef } = pool.spec;
  const servers = serversIn(pool, revisions);
  const requests = requestsOf(pool, servers ?? []);
  return {
    ...ownerOf('ExpertPool', pool),
    requests,
    traffic: trafficOf(requests),
    mode: placement?.mode ?? 'Auto',
    nvlink: placement?.nvlink ?? 'Preferred',
    ...(servers === undefined ? { unknown: true } : {}),
    verifier: energyModelRef?.name,
  };
}

/** Reports whether the pods of a model need a GPU. */
export function modelNeedsGpu({ spec }: EnergyModel): boolean {
  const { slot, memory, replicas } = spec.resources;
  return replicas > 0 && (slot !== undefined || memory !== undefined);
}

/** The pods of a model: those that serve, and those of a revision that is tried. */
function modelRequests(model: EnergyModel): readonly PlacementRequest[] {
  const { metadata, spec, status } = model;
  const { slot, replicas } = spec.resources;
  const { name } = metadata;
  const common = { demand: modelDemand(model), replicas, slot, latency: 'Score', exclusive: false, group: undefined, apart: [] } as const;
  const rollout = spec.rolloutPolicyRef === undefined ? undefined : status?.rollout;
  const { stable, canary } = rollout ?? {};
  // The first revision is reported as a canary until it serves.
  const serving = stable ?? canary;
  const first: PlacementRequest = {
    ...common,
    item: itemOf(name, serving),
    rank: 'Verifier',
    ...(serving === undefined ? {} : { stays: true }),
  };
  if (!isOpen(rollout) || canary === undefined || canary === stable) return [first];
  const beside = { beside: first.item, elsewhere: false };
  return [first, { ...common, item: itemOf(name, canary), stays: true, canary: beside, rank: 'Canary' }];
}

/** A model as an owner of engines. */
export function modelOwner(model: EnergyModel): Owner {
  return {
    ...ownerOf('EnergyModel', model),
    requests: modelNeedsGpu(model) ? modelRequests(model) : [],
    traffic: [],
    mode: 'Auto',
    nvlink: 'Preferred',
    verifier: undefined,
  };
}

/** Reports whether a pool or a model has to do with GPUs, or had. */
export function isConcerned({ requests, plan, object }: Owner): boolean {
  const hasConditions =
    object.status?.conditions?.some(({ type }) => type === 'PlacementFeasible' || type === 'PlacementConflict') === true;
  return requests.length > 0 || plan !== undefined || hasConditions;
}

/** Older ones are served first: who came later does not push them away. */
export function inOrder(owners: readonly Owner[]): readonly Owner[] {
  const age = ({ object, key }: Owner): string => `${object.metadata.creationTimestamp ?? '~'} ${key}`;
  return [...owners].sort((a, b) => (age(a) < age(b) ? -1 : 1));
}

/** Sizes that the headers of an engine's weights report. */
interface EngineSize {
  readonly weightBytes: number;
  readonly architecture: Architecture;
}

/** Share that is added to what is reckoned. */
const headroom = 0.05;

type Memory = NonNullable<NonNullable<Expert['resources']>['memory']>;

/**
 * The size of an expert's weights, or of its draft, as far as they were read. The expert may be one of another revision than
 * the spec's, whose weights have a name of their own.
 */
export function sizeOf(pool: ExpertPool, expert: Expert, name: string): EngineSize | undefined {
  const artifactOf = artifactName(pool, expert, name);
  const found = pool.status?.artifacts?.find((artifact) => artifact.name === artifactOf);
  if (found?.weightBytes === undefined || found.architecture === undefined) return undefined;
  return { weightBytes: found.weightBytes, architecture: found.architecture };
}

/** Inputs plus outputs of all linear layers, which adapters may adapt. */
export function projectionWidth({ hiddenSize, kvHeads, headSize, feedForwardSize }: Architecture): number {
  return 4 * hiddenSize + 2 * (hiddenSize + kvHeads * headSize) + 3 * (hiddenSize + feedForwardSize);
}

/** LoRA adapters that the engine of `base` loads. */
function adaptersOf(pool: ExpertPool, base: string, architecture: Architecture): Adapters | undefined {
  const room = adapterRoom(pool, base);
  if (room === undefined) return undefined;
  return { count: room.count, rank: room.maxRank, projectionWidth: projectionWidth(architecture) };
}

interface Sizes {
  readonly size: EngineSize;
  readonly draft: EngineSize | undefined;
}

function reckon(pool: ExpertPool, expert: Expert, memory: Memory, { size, draft }: Sizes): number {
  const { engine } = expert;
  const vllm = engine.type === 'VLLM' ? engine.vLLM : undefined;
  const adapters = adaptersOf(pool, expert.name, size.architecture);
  const demand: EngineDemand = {
    ...size,
    tokens: memory.kvTokens ?? vllm?.maxModelLen ?? 8192,
    maxSequences: vllm?.maxNumSeqs ?? 16,
    shards: shardsOf(expert),
    ...(draft === undefined ? {} : { draft }),
    ...(adapters === undefined ? {} : { adapters }),
  };
  const estimate = estimateEngine(demand);
  const given = bytesOf(vllm?.kvCacheBytes);
  return given === undefined ? estimate.total : estimate.total - estimate.kv + given;
}

const cure = 'wait until they are read, or give the budget in bytes';

/** Returns the reason why GPUs cannot share an expert, or why it is unknown; one that would end at once has no place at any budget. */
function spreadLack(pool: ExpertPool, expert: Expert): Demand | undefined {
  const shards = shardsOf(expert);
  if (shards === 1) return undefined;
  for (const [weights, name] of [
    ['its weights', expert.name],
    ...(expert.speculative ? [['its draft', draftOf(expert.name)]] : []),
  ] as const) {
    const architecture = sizeOf(pool, expert, name)?.architecture;
    const heads = architecture?.heads;
    if (architecture === undefined || heads === undefined) {
      const why = 'which tensorParallel has to divide, are not known (status.artifacts[].architecture.heads); wait until they are read';
      return { lack: `expert ${expert.name}: the heads of ${weights}, ${why}` };
    }
    const lack = indivisible(architecture, heads, shards);
    if (lack !== undefined)
      return { lack: `expert ${expert.name}${name === expert.name ? '' : ', its draft'}: ${lack}`, reason: 'NotDivisible' };
  }
  return undefined;
}

/** Returns the reason why an engine would refuse its draft; undefined also where their sizes are not known yet. */
function draftLack(pool: ExpertPool, expert: Expert): Demand | undefined {
  if (expert.speculative === undefined) return undefined;
  const target = sizeOf(pool, expert, expert.name)?.architecture.vocabulary;
  const draft = sizeOf(pool, expert, draftOf(expert.name))?.architecture.vocabulary;
  if (target === undefined || draft === undefined || target === draft) return undefined;
  const lack = `expert ${expert.name}: its draft knows ${draft} tokens and it ${target} (vocab_size of config.json), and vLLM starts with equal numbers only`;
  return { lack: `${lack}: take another speculative.draft, or none`, reason: 'DraftVocabulary' };
}

/**
 * Returns the memory that an expert needs on its GPU: its budget, or the estimate from the headers of its weights. `pool` has
 * the experts of its revision; `asked` is the pool as it is, when that asks for another one. Pure.
 */
export function demandOf(pool: ExpertPool, expert: Expert, asked = pool): Demand {
  const refused = spreadLack(asked, expert) ?? draftLack(asked, expert);
  if (refused !== undefined) return refused;
  const memory = expert.resources?.memory ?? { budget: 'Auto' };
  const budget = bytesOf(memory.budget);
  if (budget !== undefined) return { bytes: budget * expert.replicas };
  const size = sizeOf(asked, expert, expert.name);
  const draft = expert.speculative === undefined ? undefined : sizeOf(asked, expert, draftOf(expert.name));
  const missing = (what: string): Demand => ({
    lack: `expert ${expert.name}: the size of ${what} is not known (status.artifacts); ${cure} (spec.experts[].resources.memory.budget)`,
  });
  if (size === undefined) return missing('its weights');
  if (expert.speculative !== undefined && draft === undefined) return missing('the weights of its draft');
  return { bytes: Math.ceil(reckon(pool, expert, memory, { size, draft }) * (1 + headroom)) * expert.replicas };
}

/** Bytes of a demand; Infinity where it has no place, however much room there is. Pure. */
export function bytesOfDemand(demand: Demand): number {
  return 'bytes' in demand ? demand.bytes : Infinity;
}

/** Returns the memory that a model needs on its GPU: its artifacts have no weights whose headers could be read. Pure. */
export function modelDemand({ spec }: EnergyModel): Demand {
  const budget = bytesOf(spec.resources.memory?.budget);
  if (budget !== undefined) return { bytes: budget * spec.resources.replicas };
  return { lack: 'the size of the model is not known; give spec.resources.memory.budget in bytes' };
}

/** Pods that are to serve an expert. */
export interface ExpertServer {
  readonly expert: Expert;
  /** All experts of its revision. */
  readonly experts: readonly Expert[];
  /** As in `serverHash`; undefined in a pool without rollouts. */
  readonly revision: string | undefined;
  /** In a revision that is tried, of an expert that is another one in it. */
  readonly canary: { readonly beside: ExpertServer | undefined } | undefined;
}

/** Images and records by which revisions are known. */
export interface Revisions {
  readonly images: Images;
  /** Of all pools. */
  readonly records: readonly ControllerRevision[];
}

interface Content {
  readonly experts: readonly Expert[];
  readonly images: Images;
}

const ofPool =
  ({ metadata }: ExpertPool) =>
  (record: KubeObject): boolean =>
    record.metadata.namespace === metadata.namespace;

/**
 * The servers of a pool that its rollout asks for: of the revision that serves, and of one that is tried. Undefined while the
 * record of the one that serves is not to be seen: then its needs are unknown, and nothing may move. Pure.
 */
export function serversIn(pool: ExpertPool, { images, records }: Revisions): readonly ExpertServer[] | undefined {
  const { experts, rolloutPolicyRef } = pool.spec;
  if (rolloutPolicyRef === undefined) return experts.map((expert) => ({ expert, experts, revision: undefined, canary: undefined }));
  const desired = poolRevision(pool.metadata.uid ?? '', experts, (expert) => imageOf(expert, images));
  const arms = new Map<string, Content>([...recordedArms(pool, images, records.filter(ofPool(pool))), [desired, { experts, images }]]);
  const found = servingArms(arms, desired, pool.status?.rollout);
  if (found === undefined) return undefined;
  const stable = serversOf(found.serving);
  if (found.tried === undefined) return stable;
  const known = new Set(stable.map(keyOf));
  const canaries = serversOf(found.tried).filter((server) => !known.has(keyOf(server)));
  const beside = new Map(stable.map((server) => [server.expert.name, server]));
  return [...stable, ...canaries.map((server) => ({ ...server, canary: { beside: beside.get(server.expert.name) } }))];
}

function serversOf(content: Content): readonly ExpertServer[] {
  const { experts } = content;
  return experts.map((expert) => ({ expert, experts, revision: serverHash(content, expert), canary: undefined }));
}

const keyOf = ({ expert, revision }: ExpertServer): string => `${expert.name} ${revision ?? ''}`;
