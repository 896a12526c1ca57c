import { keyOf, type KubeObject } from '@agentfleet/kube';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import type { GoldenArm } from '@agentfleet/protocol/golden';
import { labels } from '@agentfleet/protocol/pool';
import { type PoolArm, type RecordedArm, imageOf, needsGpu, serverHash } from '../../operands/index.ts';
import { homeOf } from '../../operands/manifest.ts';
import { itemOf } from '../../placement/index.ts';
import { expertName, gatewayName, goldenServiceAccount } from '../../pools/names.ts';
import {
  followRollout,
  lostOf,
  numbered,
  planOfRest,
  planRevisions,
  poolRevision,
  shortOf,
  type Followers,
  type InUse,
  type Planned,
  type Revisions,
  type RolloutReport,
  type Seen,
} from '../../revisions/index.ts';
import { anyDefault, poolIndex } from '../../runtime/caches.ts';
import { type Deployment, identity, type Job, resources } from '../../runtime/resources.ts';
import { engineState, rolledOut, wasSeated } from '../../serving/index.ts';
import { missingParts } from './decide.ts';
import { isBehindGateway } from './manifests/chat.ts';
import { parts, verifier } from './manifests/brief.ts';
import { armInput, deploymentsOf, partsOfPlainGateway } from './servers.ts';
import type { PoolSnapshot, RolloutPlan } from './snapshot.ts';

/** The revision that the spec asks for. Pure. */
export function desiredArm({ pool, images, recorded }: PoolSnapshot): RecordedArm {
  const { experts } = pool.spec;
  const revision = poolRevision(pool.metadata.uid ?? '', experts, (expert) => imageOf(expert, images));
  return numbered({ revision, experts, images }, recorded);
}

/**
 * Experts that still have pods from before there were revisions. Those on GPUs do not wait for the first revision: there may be
 * no room for both.
 */
function plainExperts({ pool, deployments }: PoolSnapshot): ReadonlySet<string> {
  const { name: owner } = pool.metadata;
  const waits = (found: Deployment | undefined): boolean => found !== undefined && !wasSeated(found.spec?.template);
  const before = (expert: Expert): string => (isBehindGateway(expert) ? gatewayName(owner) : expertName(owner, expert.name));
  return new Set(pool.spec.experts.filter((expert) => waits(deployments.get(before(expert)))).map(({ name }) => name));
}

/** The children of experts that are served by pods from before there were revisions. */
function plainChildren({ metadata: { name: owner } }: ExpertPool, experts: ReadonlySet<string>): readonly string[] {
  const names = [...experts].map((expert) => expertName(owner, expert));
  return names.flatMap((name) => [identity(resources.deployments, name), identity(resources.services, name)]);
}

/**
 * Plans the parts of a pool in a rollout. `plainInUse` reports whether a task is worked on that knows no revision. Pure. `now` is
 * wall time in ms.
 */
export function planOf(
  snapshot: PoolSnapshot,
  status: RolloutReport,
  inUse: InUse,
  now: number,
  plainInUse = (): boolean => false,
): RolloutPlan | undefined {
  const { pool, policy, recorded, deployments } = snapshot;
  const namesOf = (arm: PoolArm): readonly string[] => deploymentsOf(pool, arm).map(({ name }) => name);
  const hasPods = (arm: PoolArm, others: readonly PoolArm[]): boolean => {
    const shared = new Set(others.flatMap(namesOf));
    const own = namesOf(arm).filter((name) => !shared.has(name));
    return own.length === 0 || own.some((name) => deployments.has(name));
  };
  const experts = plainExperts(snapshot);
  const keys = [...plainChildren(pool, experts), ...partsOfPlainGateway(pool)];
  const plain = { keys, isThere: experts.size > 0, inUse: plainInUse };
  const plan = planRevisions({ owner: pool, policy, desired: desiredArm(snapshot), recorded, inUse, hasPods, plain }, status, now);
  return plan && { ...plan, plain: status.stable === undefined ? experts : new Set() };
}

/**
 * Returns the rest of a rollout whose pool has none any more: its pods stay until those that follow answer, but for those on
 * GPUs, in whose places the others come. Pure.
 */
export function leavingPlan(snapshot: PoolSnapshot, inUse: InUse): RolloutPlan | undefined {
  const { pool, images, children, recorded, deployments } = snapshot;
  if (recorded === undefined || recorded.size === 0) return undefined;
  const ready = deploymentsOf(pool, { experts: pool.spec.experts, images }, true).every(({ name, replicas }) =>
    rolledOut(deployments.get(name), replicas),
  );
  if (ready && ![...recorded.keys()].some(inUse)) return undefined;
  const stays = ({ metadata }: KubeObject): boolean => !wasSeated(deployments.get(metadata.name)?.spec?.template);
  const left = children.filter(({ object }) => object.metadata.labels?.[labels.revision] !== undefined && stays(object));
  const rest = planOfRest(pool, recorded);
  return {
    ...rest,
    status: undefined,
    serving: { revision: '', experts: pool.spec.experts, images },
    plain: new Set(),
    arms: [],
    keep: [...left.map(({ resource, object }) => identity(resource, object.metadata.name)), ...rest.keep],
  };
}

/** The pool as its tasks see it: experts and images of the revision that serves. Pure. */
export function withPlan(snapshot: PoolSnapshot, rollout: RolloutPlan | undefined): PoolSnapshot {
  if (rollout === undefined) return snapshot;
  const { experts, images } = rollout.serving;
  const pool = { ...snapshot.pool, spec: { ...snapshot.pool.spec, experts: [...experts] } };
  return { ...snapshot, pool, images: { ...snapshot.images, ...images }, rollout };
}

/** Decides how the rollout of a pool goes on, and what the pool consists of meanwhile. */
export function planPool<T>(
  followers: Followers,
  snapshot: PoolSnapshot,
  signal: AbortSignal,
  act: (planned: Planned<RolloutPlan>) => Promise<T>,
): Promise<T> {
  const { pool, policy, recorded } = snapshot;
  const revisionsOf = (now: number): Revisions<RolloutPlan> => {
    const desired = desiredArm(snapshot);
    const items = itemsOf(desired);
    const lost = lostOf(pool.status, desired.revision, items);
    const obstacles = [...missingParts(snapshot).map(({ message }) => message), ...(lost === undefined ? [] : [lost])];
    return {
      desired: desired.revision,
      recorded,
      golden: goldenSets(snapshot, [...(recorded?.values() ?? []), desired], now),
      trial: { pods: (revision) => podsOf(snapshot, revision) },
      canaryEngines: enginesOf(snapshot, desired, now),
      incompatible: obstacles.length === 0 ? undefined : obstacles.join('; '),
      short: shortOf(pool.status?.plan, items),
      plan: (status, inUse) => planOf(snapshot, status, inUse, now, () => plainInUse(followers, pool)),
    };
  };
  const leaving = (inUse: InUse): RolloutPlan | undefined => leavingPlan(snapshot, inUse);
  return followRollout(followers, { owner: pool, policy, leaving, act }, revisionsOf, signal);
}

/** Reports whether a task is worked on that knows no revision. */
function plainInUse({ context }: Followers, pool: ExpertPool): boolean {
  const { lister } = context.caches.tasks;
  return [...lister.byIndex(poolIndex, keyOf(pool)), ...lister.byIndex(poolIndex, anyDefault)].some(
    ({ status }) => status?.assignment !== undefined && status.assignment.revision === undefined,
  );
}

/** Returns the state of the pods of a revision. */
function enginesOf({ pool, deployments }: PoolSnapshot, arm: PoolArm, now: number): Seen['canaryEngines'] {
  const servers = deploymentsOf(pool, arm).filter(({ replicas }) => replicas > 0);
  return engineState(
    servers.map(({ name, replicas }) => ({ deployment: deployments.get(name), replicas })),
    now,
  );
}

/** Pods of a revision that are not also those of another one. */
function podsOf(snapshot: PoolSnapshot, revision: string): PoolSnapshot['pods'] {
  const arms = [...(snapshot.recorded?.values() ?? []), desiredArm(snapshot)];
  const mine = arms.find((arm) => arm.revision === revision);
  const { stable, canary } = snapshot.pool.status?.rollout ?? {};
  const other = arms.find((arm) => arm.revision === (revision === stable ? canary : stable));
  const hashes = (arm: PoolArm): ReadonlySet<string> => new Set(arm.experts.map((expert) => serverHash(arm, expert)));
  const shared = other === undefined ? new Set<string>() : hashes(other);
  const own = mine === undefined ? [] : [...hashes(mine)].filter((hash) => !shared.has(hash));
  const wanted = new Set(own);
  return snapshot.pods.filter(({ metadata }) => wanted.has(metadata.labels?.[labels.revision] ?? ''));
}

/** Returns the means by which golden sets find the revisions of a pool. */
function goldenSets(snapshot: PoolSnapshot, arms: readonly PoolArm[], now: number): Revisions<RolloutPlan>['golden'] {
  const { pool, energyModel, children, pods, notes } = snapshot;
  const { name } = pool.metadata;
  const armOf = (revision: string): PoolArm | undefined => arms.find((arm) => arm.revision === revision);
  const arm = (revision: string, rollout: string): GoldenArm | undefined => {
    const found = armOf(revision);
    if (found === undefined) return undefined;
    // Golden sets ask for proposals, which chat models do not make.
    const experts = parts(pool, armInput(found)).experts.filter(({ chat }) => chat === undefined);
    const judge = energyModel === undefined ? null : verifier(energyModel);
    return { kind: 'ExpertPool', name, namespace: homeOf(pool), revision, rollout, experts, verifier: judge };
  };
  return {
    serviceAccount: goldenServiceAccount(name),
    ready: (revision) => {
      const found = armOf(revision);
      return found !== undefined && enginesOf(snapshot, found, now) === 'Ready';
    },
    arm,
    jobs: children.flatMap(({ resource, object }) => (resource === resources.jobs ? [object as Job] : [])),
    pods: pods.filter(({ metadata }) => metadata.labels?.[labels.component] === 'golden'),
    notes,
  };
}

/** Lists the names of the engines of a revision in the ledger of GPUs. */
export function itemsOf(arm: PoolArm): readonly string[] {
  return arm.experts.filter(needsGpu).map((expert) => itemOf(expert.name, serverHash(arm, expert)));
}
