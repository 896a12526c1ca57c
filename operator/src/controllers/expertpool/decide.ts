import type { Obstacle } from './conditions.ts';
import { imageOf, serverHash, weightsOf, needsGpu, shardsOf } from '../../operands/index.ts';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { expertName, gatewayName, spendingName } from '../../pools/names.ts';
import { identity, resources, type Deployment } from '../../runtime/resources.ts';
import { gatewaysOf, heldByGateways, serverName, serversOf, type Server, serverRevision, armsOf, recordsToMake } from './servers.ts';
import { type Child, surplus, takenNames, type ChildWriter } from './children.ts';
import {
  guardedExperts,
  guardedWorkers,
  poolKeys,
  workerAccess,
  artifactsVolume,
  goldenAccess,
  workersService,
} from './manifests/access.ts';
import { briefConfigMap } from './manifests/brief.ts';
import { hasNoPods } from './manifests/chat.ts';
import { expertDeployment, expertService } from './manifests/experts.ts';
import type { Manifest } from '../../operands/manifest.ts';
import { gatewayDeployment, gatewayParts, type Gateway } from './manifests/gateway.ts';
import { poolWalls } from './manifests/walls.ts';
import { workersDeployment, workersBudget } from './manifests/workers.ts';
import { reservedCondition, VllmArgumentError } from '../../serving/vllm/index.ts';
import type { Replay, PoolSnapshot } from './snapshot.ts';
import { viewOfItem, weightsReady, weightsWall, modelsVolume } from './manifests/weights.ts';
import { seatDeployment, seatOf, wasSeated, type Seat } from '../../serving/index.ts';
import { itemOf } from '../../placement/index.ts';
import { bytesOfDemand, demandOf } from '../placement/owners.ts';
import { isApiError, isWebhookFailure, type ApiError, type KubeObject } from '@agentfleet/kube';

/** Decision on the objects of a pool. */
export interface PoolDecision {
  /** In the order in which they are made. */
  readonly apply: readonly Manifest[];
  readonly remove: readonly Child[];
  readonly obstacles: readonly Obstacle[];
}

function replayFor(expert: Expert, replays: PoolSnapshot['replays']): Replay | undefined {
  return expert.engine.type === 'Replay' ? replays.get(expert.engine.replay.configMap.name) : undefined;
}

/**
 * The Deployment of an expert. One whose recording or image is missing is not made, and not changed when it is there: its
 * pods still have what they started with.
 */
function deployment(snapshot: PoolSnapshot, server: Server): readonly Manifest[] {
  const { images, revision, expert } = server;
  const seat = seatOfExpert(snapshot, server);
  const { replays } = snapshot;
  const pool = { ...snapshot.pool, spec: { ...snapshot.pool.spec, experts: [...server.experts] } };
  const replay = replayFor(expert, replays);
  const image = imageOf(expert, images);
  if (image === undefined || (expert.engine.type === 'Replay' && replay?.hash === undefined)) return [];
  const { weights = [] } = snapshot;
  if (!weightsReady(weights, weightsOf(pool, [expert])) || reservedOf(expert) !== undefined) return [];
  const manifest = expertDeployment({
    pool,
    expert,
    image,
    replayHash: replay?.hash,
    weights,
    agentImage: snapshot.images.agent,
    ...baseOf(pool, server),
    revision,
  });
  return seated(snapshot, seat, guardedExperts(snapshot.pool, snapshot.access, manifest));
}

/** The server whose engine loads an adapter: that of its own revision. */
function baseOf({ metadata }: ExpertPool, { expert, experts, images, revision }: Server): { readonly baseServer?: string } {
  const { engine } = expert;
  if (engine.type !== 'Adapter') return {};
  const base = experts.find(({ name }) => name === engine.adapter.base);
  if (base === undefined) return {};
  const of = revision === undefined ? undefined : serverHash({ experts, images }, base);
  return { baseServer: expertName(metadata.name, base.name, of) };
}

/** Returns the objects that fetch and read weights which are not known yet, and the volume in which they are kept. */
function weightsParts({ pool, operatorNamespace, weights = [] }: PoolSnapshot): readonly Manifest[] {
  if (weights.length === 0) return [];
  const items = weights.map(({ item }) => item);
  const open = weights.filter(({ state }) => state.phase !== 'Ready');
  const jobs = new Map(open.map(({ job }) => [job.object.metadata.name, job]));
  return [...modelsVolume(pool, items), weightsWall(pool, operatorNamespace), ...jobs.values()];
}

/** Weights that cannot be used, each with the expert that lacks them. */
function refusedWeights({ weights = [] }: PoolSnapshot): readonly Obstacle[] {
  return weights.flatMap(({ item, fault }) => (fault === undefined ? [] : [{ ...fault, expert: item.expert }]));
}

/** A gateway whose recordings are not all there is not made, and not changed when it is there. */
const isWhole = ({ models, recordings }: Gateway): boolean =>
  models.every(({ engine }) => engine.type !== 'Replay' || recordings.has(engine.replay.configMap.name));

/** All objects of a pool in its own namespace. Pure. */
export function renderPool(snapshot: PoolSnapshot): readonly Manifest[] {
  const { pool, images, namespaces, energyModel, egress, operatorNamespace, access } = snapshot;
  const { experts } = pool.spec;
  const served = experts.filter((expert) => imageOf(expert, images) !== undefined);
  const servers = serversOf(snapshot);
  const gateways = gatewaysOf(snapshot);
  const reach = { egress, ...snapshot.reach, hasChat: gateways.length > 0, hasResults: access.results !== undefined };
  return [
    ...workerAccess(pool),
    ...goldenAccess(pool),
    poolKeys(pool, access),
    ...workersService(pool, access),
    briefConfigMap({ pool, namespaces, experts: served, energyModel, egress, ...armsOf(snapshot) }),
    ...artifactsVolume(pool),
    ...weightsParts(snapshot),
    ...poolWalls(pool, operatorNamespace, snapshot.prometheusNamespace, reach),
    ...gateways.flatMap((gateway) => gatewayParts(gateway, snapshot)),
    ...recordsToMake(snapshot),
    ...servers.map((server) => expertService({ pool, ...server })),
    ...servers.flatMap((server) => deployment(snapshot, server)),
    ...gateways.filter(isWhole).map((gateway) => gatewayDeployment(gateway, snapshot)),
    ...workersBudget(pool),
    guardedWorkers(pool, access, workersDeployment(pool, images.agent, heldByGateways(snapshot))),
  ];
}

/** Returns an argument of the engine's command line that the operator sets itself. */
function reservedOf({ engine }: Expert): string | undefined {
  return engine.type === 'VLLM' ? reservedCondition(engine.vLLM.extraArgs ?? []) : undefined;
}

/** Lists the parts of a pool that cannot be made. Pure. */
export function missingParts({ pool, replays, images }: Pick<PoolSnapshot, 'pool' | 'replays' | 'images'>): readonly Obstacle[] {
  return pool.spec.experts.flatMap((expert): readonly Obstacle[] => {
    if (expert.replicas > 0 && imageOf(expert, images) === undefined) {
      const message = 'the engine Llama has no image; set the chart value images.inferenceLlama, or remove the expert';
      return [{ reason: 'ImageNotSet', message, expert: expert.name }];
    }
    const conditionValue = reservedOf(expert);
    if (conditionValue !== undefined)
      return [{ reason: 'EngineArgumentRefused', message: new VllmArgumentError(conditionValue).message, expert: expert.name }];
    const replay = replayFor(expert, replays);
    if (replay === undefined || replay.hash !== undefined) return [];
    return [{ reason: replay.reason, message: replay.message, expert: expert.name }];
  });
}

/** Decides which objects a pool is to consist of, and which present ones are surplus. Pure: equal snapshots give equal decisions. */
export function decidePool(snapshot: PoolSnapshot): PoolDecision {
  const { pool, children } = snapshot;
  const apply = renderPool(snapshot);
  const taken = takenNames(pool, apply, children);
  if (taken.length > 0) {
    const obstacles = taken.map((what): Obstacle => ({ reason: 'NameTaken', message: `${what}; rename the pool or the expert` }));
    return { apply: [], remove: [], obstacles };
  }
  const kept = pool.spec.experts.filter((expert) => expert.replicas > 0 && !hasNoPods(expert));
  const { name } = pool.metadata;
  // Objects that are not changed now stay: those that serve, and those of revisions that are tried or end.
  const servers = serversOf(snapshot).filter(({ expert, revision }) => expert.replicas > 0 && revision !== undefined);
  const keep = [
    ...kept.map((expert) => identity(resources.deployments, serverName(snapshot, expert))),
    ...servers.map(({ expert, revision }) => identity(resources.deployments, expertName(name, expert.name, revision))),
    ...(snapshot.rollout?.keep ?? []),
    identity(resources.configMaps, spendingName(name)),
    ...gatewaysOf(snapshot).map(({ revision }) => identity(resources.deployments, gatewayName(name, revision))),
  ];
  return {
    apply,
    remove: surplus(pool, apply, children, keep),
    obstacles: [...missingParts(snapshot), ...refusedWeights(snapshot), ...unseated(snapshot)],
  };
}

type Seated = Pick<Server, 'expert' | 'experts' | 'revision'>;

/** The place of an expert by the plan in force; each revision has a place of its own, or none. */
function seatOfExpert(snapshot: PoolSnapshot, server: Seated): Seat {
  const { expert, revision } = server;
  const isOnGpu = needsGpu(expert);
  const wanted = isOnGpu ? { shards: shardsOf(expert), bytes: bytesOf(snapshot, server) } : {};
  return seatOf(isOnGpu, snapshot.pool.status, itemOf(expert.name, revision), wanted);
}

/** Bytes that an engine would be started with on each of its GPUs, as the placement reckons them from what is known of its weights. */
function bytesOf({ pool, weights = [] }: PoolSnapshot, { expert, experts }: Seated): number {
  const own = { ...pool, spec: { ...pool.spec, experts: [...experts] } };
  const artifacts = weightsOf(own).flatMap((item) => {
    const state = viewOfItem(weights, item)?.state;
    return state === undefined ? [] : [{ ...state, name: item.name }];
  });
  return bytesOfDemand(demandOf({ ...own, status: { ...pool.status, artifacts } }, expert));
}

/**
 * The Deployment of an expert where the plan puts it. One without a place is not made, and one that lost its place has no
 * pods any more: the memory belongs to another engine. One that never had a place stays as it is. Pure.
 */
export function seated(snapshot: Pick<PoolSnapshot, 'deployments'>, seat: Seat, manifest: Manifest): readonly Manifest[] {
  const { object } = manifest;
  if (seat.kind === 'Unseated') {
    const present = snapshot.deployments.get(object.metadata.name);
    if ((seat.reason === undefined && seat.moves !== true) || !wasSeated(present?.spec?.template)) return [];
  }
  return [{ ...manifest, object: { ...object, spec: seatDeployment(object['spec'] as object, seat) } }];
}

/** Experts without a place, in the words of the placement. Pure. */
function unseated(snapshot: PoolSnapshot): readonly Obstacle[] {
  return snapshot.pool.spec.experts.flatMap((expert): readonly Obstacle[] => {
    const revision = serverRevision(snapshot, expert);
    const seat = seatOfExpert(snapshot, { expert, experts: snapshot.pool.spec.experts, revision });
    if (seat.kind !== 'Unseated' || seat.reason === undefined) return [];
    return [{ reason: seat.reason, message: seat.message, expert: expert.name }];
  });
}

/** Result of a decision that was carried out. */
interface Execution {
  /** Those of the decision, and the refusal. */
  readonly obstacles: readonly Obstacle[];
  /** Deployments as the server has them after the writes, by name: newer than what the cache shows. */
  readonly deployments: ReadonlyMap<string, Deployment>;
  /** The first refusal of the server, to be thrown once the status reports it. */
  readonly refusal: ApiError | undefined;
}

function refusalCure(error: ApiError): string {
  if (error.message.includes('exceeded quota')) return '; raise that ResourceQuota, or make room below it';
  return isWebhookFailure(error) ? '; mend or remove that admission webhook, or let it leave out the namespace' : '';
}

function refused({ resource, object }: Manifest, error: ApiError): Obstacle {
  const { name, namespace } = object.metadata;
  return { reason: 'WriteRefused', message: `${resource.kind} ${namespace}/${name} was refused: ${error.message}${refusalCure(error)}` };
}

/** Kinds on which nothing rests that is written after them: one that is refused stops no other. */
const leaves: ReadonlySet<unknown> = new Set([resources.deployments, resources.jobs, resources.podDisruptionBudgets]);

/**
 * Writes children in their order, then removes what is too much. After a refusal nothing is removed, and after one of what others rest
 * on (access, walls, configuration) nothing more is written. An answer that will stay the same is a result, because the status has to
 * say it; anything else rejects, and the controller tries again.
 */
export async function executePool(
  { apply, remove, obstacles }: PoolDecision,
  writer: ChildWriter,
  signal: AbortSignal,
): Promise<Execution> {
  const deployments = new Map<string, Deployment>();
  let refusal: { readonly error: ApiError; readonly obstacle: Obstacle } | undefined;
  for (const manifest of apply) {
    try {
      const object: KubeObject | undefined = await writer.apply(manifest, signal);
      if (object !== undefined && manifest.resource === resources.deployments) deployments.set(object.metadata.name, object);
    } catch (error) {
      // A webhook that does not answer stays so for a while, as a rule, and nobody else reports it.
      if (!isApiError(error) || (error.retryable && !isWebhookFailure(error))) throw error;
      refusal ??= { error, obstacle: refused(manifest, error) };
      if (!leaves.has(manifest.resource)) break;
    }
  }
  if (refusal !== undefined) return { deployments, obstacles: [refusal.obstacle, ...obstacles], refusal: refusal.error };
  for (const child of remove) await writer.remove(child, signal);
  return { deployments, obstacles, refusal: undefined };
}
