import { type PoolArm, serverHash, needsGpu } from '../../operands/index.ts';
import { keyOf } from '@agentfleet/kube';
import { rolloutAnnotations, type ExpertPool, type RolloutPolicySpec, type RolloutStatus, type PlanStatus } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { rolloutLedgerName, goldenServiceAccount } from '../../pools/names.ts';
import {
  decidedBy,
  poolLockedBy,
  progress,
  type GoldenView,
  type LedgerPlace,
  type RolloutLock,
  type Seen,
  type Trials,
  withoutPolicy,
  type GoldenQuestion,
  isOpen,
} from '../../revisions/index.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import { revisionIndex } from '../../runtime/taskCensus.ts';
import { exceeded, rolledOut } from '../../serving/index.ts';
import { deploymentsOf, armInput } from './servers.ts';
import { missingParts } from './decide.ts';
import type { PoolSnapshot, RolloutPlan } from './snapshot.ts';
import { desiredArm, leavingPlan, planOf, type InUse } from './rolloutPlan.ts';
import { anyDefault, poolIndex } from '../../runtime/caches.ts';
import type { GoldenArm } from '@agentfleet/protocol/golden';
import { type Job, resources } from '../../runtime/resources.ts';
import { parts, verifier } from './manifests/brief.ts';
import { homeOf } from '../../operands/manifest.ts';
import { identity } from './children.ts';
import { itemOf } from '../../placement/index.ts';

/** What became of a look at the rollout of a pool. `release` once the status is written. */
export type Planned = ({ readonly plan: RolloutPlan | undefined } | { readonly lost: RolloutStatus }) & { readonly release: () => void };

const free = (): void => undefined;

/** Follows the rollouts of pools: brings what was seen to the machine, and makes plans of what it says. */
export class PoolRollouts {
  readonly #context: OperatorContext;
  readonly #trials: Trials;
  readonly #lock: RolloutLock;

  constructor(context: OperatorContext, trials: Trials, lock: RolloutLock) {
    this.#context = context;
    this.#trials = trials;
    this.#lock = lock;
  }

  /** How the rollout of a pool goes on, and what the pool consists of meanwhile. */
  async plan(snapshot: PoolSnapshot, signal: AbortSignal): Promise<Planned> {
    const { pool, policy } = snapshot;
    const inUse = this.#inUse(pool);
    if (policy === undefined) return { plan: leavingPlan(snapshot, inUse), release: free };
    const before = pool.status?.rollout;
    const now = this.#context.clock.now();
    if (policy.spec === undefined) return { lost: withoutPolicy(before, policy, now), release: free };
    const { spec } = policy;
    if (before?.stable !== undefined && !knows(snapshot, before.stable)) return { lost: recordLost(before, before.stable), release: free };
    const golden = await this.#golden(snapshot, spec, signal);
    const seen = await this.#see(snapshot, spec, { now, golden }, signal);
    const decide = (lockedBy: string | undefined): RolloutStatus =>
      withPlaces(progress(before, spec, { ...seen, lockedBy }, this.#trials.designs), shortOfPlaces(pool, desiredArm(snapshot)));
    const { status, release } = await this.#lock.ofPool(pool, { before, lockedBy: seen.lockedBy, decide }, signal);
    const plan = planOf(snapshot, status, inUse, now);
    if (plan === undefined) return { lost: recordLost(status, status.stable ?? ''), release };
    const shadow = this.#trials.shadow(placeOf(pool), status);
    return { plan: { ...plan, keep: [...plan.keep, ...keptJobs(golden, before, status)], shadow }, release };
  }

  #golden(snapshot: PoolSnapshot, spec: RolloutPolicySpec, signal: AbortSignal): Promise<GoldenView> {
    const { pool } = snapshot;
    const arms = [...(snapshot.recorded?.values() ?? []), desiredArm(snapshot)];
    const armOf = (revision: string): PoolArm | undefined => arms.find((arm) => arm.revision === revision);
    const sets = poolSets(snapshot, armOf, (arm) => enginesOf(snapshot, arm) === 'Ready');
    const retry = pool.metadata.annotations?.[rolloutAnnotations.retry];
    return this.#trials.golden.look({ ...sets, place: placeOf(pool), status: pool.status?.rollout, spec, retry }, signal);
  }

  async #see(
    snapshot: PoolSnapshot,
    spec: RolloutPolicySpec,
    { now, golden }: { readonly now: number; readonly golden: GoldenView },
    signal: AbortSignal,
  ): Promise<Seen> {
    const { pool } = snapshot;
    const desired = desiredArm(snapshot);
    const lost = lostPlace(pool, desired);
    const obstacles = [...missingParts(snapshot).map(({ message }) => message), ...(lost === undefined ? [] : [lost])];
    const { rollout: status } = pool.status ?? {};
    const pods = (revision: string): PoolSnapshot['pods'] => podsOf(snapshot, revision);
    const evidence = await this.#trials.evidence({ place: placeOf(pool), arm: 'revision', status, spec, pods, golden, now }, signal);
    return {
      desired: desired.revision,
      canaryEngines: enginesOf(snapshot, desired),
      incompatible: obstacles.length === 0 ? undefined : obstacles.join('; '),
      lockedBy: poolLockedBy(snapshot.energyModel),
      evidence,
      ...decidedBy(this.#context.caches.orders.lister, 'ExpertPool', pool),
      retry: pool.metadata.annotations?.[rolloutAnnotations.retry],
      now,
    };
  }

  #inUse(pool: ExpertPool): InUse {
    const { lister } = this.#context.caches.tasks;
    return {
      revision: (revision) => lister.byIndex(revisionIndex, revision).length > 0,
      plain: () =>
        [...lister.byIndex(poolIndex, keyOf(pool)), ...lister.byIndex(poolIndex, anyDefault)].some(
          ({ status }) => status?.assignment !== undefined && status.assignment.revision === undefined,
        ),
    };
  }
}

/** The book of a pool's rollouts. */
const placeOf = (pool: ExpertPool): LedgerPlace => ({
  owner: pool,
  name: rolloutLedgerName(pool.metadata.name, 'pool'),
  labels: { [labels.component]: 'expert', [labels.pool]: pool.metadata.name },
});

const knows = (snapshot: PoolSnapshot, revision: string): boolean =>
  snapshot.recorded?.has(revision) === true || desiredArm(snapshot).revision === revision;

function recordLost(status: RolloutStatus, revision: string): RolloutStatus {
  const message = `the ControllerRevision of revision ${revision}, which serves, is gone; bring it back, or remove spec.rolloutPolicyRef and set it again, by which what spec.experts says serves at once`;
  return { ...status, reason: 'RevisionLost', message };
}

/** How far the pods of a revision are. */
function enginesOf({ pool, deployments }: PoolSnapshot, arm: PoolArm): Seen['canaryEngines'] {
  const all = deploymentsOf(pool, arm)
    .filter(({ replicas }) => replicas > 0)
    .map(({ name, replicas }) => ({ deployment: deployments.get(name), replicas }));
  if (all.some(({ deployment }) => exceeded(deployment))) return 'Failed';
  return all.every(({ deployment, replicas }) => rolledOut(deployment, replicas)) ? 'Ready' : 'Loading';
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

/** What is asked of the golden sets of a pool, apart from where its book lies and what its rollout says. */
export type PoolSets = Pick<GoldenQuestion, 'kind' | 'labels' | 'serviceAccount' | 'ready' | 'arm' | 'jobs' | 'pods'>;

/** How golden sets find the revisions of a pool. `armOf` finds one by its name, `ready` tells whether its engines answer. Pure. */
export function poolSets(
  snapshot: PoolSnapshot,
  armOf: (revision: string) => PoolArm | undefined,
  ready: (arm: PoolArm) => boolean,
): PoolSets {
  const { pool, energyModel, children, pods } = snapshot;
  const { name } = pool.metadata;
  const arm = (revision: string, rollout: string): GoldenArm | undefined => {
    const found = armOf(revision);
    if (found === undefined) return undefined;
    // Golden sets ask for proposals, which chat models do not make.
    const experts = parts(pool, armInput(found)).experts.filter(({ chat }) => chat === undefined);
    const judge = energyModel === undefined ? null : verifier(energyModel);
    return { kind: 'ExpertPool', name, namespace: homeOf(pool), revision, rollout, experts, verifier: judge };
  };
  return {
    kind: 'pool',
    labels: { [labels.pool]: name },
    serviceAccount: goldenServiceAccount(name),
    ready: (revision) => {
      const found = armOf(revision);
      return found !== undefined && ready(found);
    },
    arm,
    jobs: children.flatMap(({ resource, object }) => (resource === resources.jobs ? [object as Job] : [])),
    pods: pods.filter(({ metadata }) => metadata.labels?.[labels.component] === 'golden'),
  };
}

/** Children that stay although nobody asks for them: Jobs of the rollout that was looked at. Pure. */
export function keptJobs({ keep }: GoldenView, before: RolloutStatus | undefined, now: RolloutStatus): readonly string[] {
  return before?.id === now.id ? keep.map((name) => identity(resources.jobs, name)) : [];
}

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

const cure = 'give a smaller budget, or remove a tenant; what serves stays where it is';

function itemsOf(arm: PoolArm): readonly string[] {
  return arm.experts.filter(needsGpu).map((expert) => itemOf(expert.name, serverHash(arm, expert)));
}

/** Which engines of a revision find no room beside what serves, with the least that they lack; undefined: none. Pure. */
export function shortOfPlaces({ status }: Pick<ExpertPool, 'status'>, arm: PoolArm): string | undefined {
  return shortOf(status?.plan, itemsOf(arm));
}

/** The same of items of a plan. Pure. */
export function shortOf(plan: PlanStatus | undefined, items: readonly string[]): string | undefined {
  const rejected = plan?.rejected ?? [];
  const words = items.flatMap((name) => {
    const first = rejected.find(({ item }) => item === name);
    if (first === undefined) return [];
    const { slot, reason, shortByBytes: short } = first;
    const why = short === undefined ? reason : `lacks ${short} bytes (${gib(short)})`;
    return [`${name}: ${slot === undefined ? reason : `${slot} ${why}`}`];
  });
  return words.length === 0 ? undefined : `no place on a GPU beside what serves: ${words.join('; ')}; ${cure}`;
}

/** Why a revision that is tried cannot go on: an engine of it had a place on a GPU and has lost it. Pure. */
export function lostPlace({ status }: Pick<ExpertPool, 'status'>, arm: PoolArm): string | undefined {
  return lostOf(status, arm.revision, itemsOf(arm));
}

/** What of a pool or a model tells of rollouts and places. */
interface Placed {
  readonly plan?: PlanStatus;
  readonly rollout?: RolloutStatus;
}

/** The same of the items of a revision. Pure. */
export function lostOf(status: Placed | undefined, revision: string, items: readonly string[]): string | undefined {
  const { rollout, plan } = status ?? {};
  const tried = rollout?.canary === revision && isOpen(rollout) && rollout.phase !== 'Loading';
  if (!tried) return undefined;
  const seated = new Set((plan?.assignments ?? []).filter(({ admitted }) => admitted).map(({ item }) => item));
  const lost = items.filter((item) => !seated.has(item));
  return lost.length === 0 ? undefined : `${lost.join(', ')} lost its place on a GPU: what serves needs it`;
}

/** The status of a rollout with what its engines lack, while they come up. Pure. */
export function withPlaces(status: RolloutStatus, short: string | undefined): RolloutStatus {
  if (!isOpen(status) || status.phase !== 'Loading') return status;
  if (short !== undefined) return { ...status, reason: 'NoPlace', message: short.slice(0, 512) };
  return status.reason === 'NoPlace' ? { ...status, reason: 'Loading', message: 'its engines are coming up' } : status;
}
