import { type PoolArm, serverHash } from '../../../operands/index.ts';
import { keyOf } from '@agentfleet/kube';
import { rolloutAnnotations, type ExpertPool, type RolloutPolicySpec, type RolloutStatus } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { rolloutLedgerName } from '../../../pools/names.ts';
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
} from '../../../revisions/index.ts';
import type { OperatorContext } from '../../../runtime/context.ts';
import { revisionIndex } from '../../../runtime/taskCensus.ts';
import { exceeded, rolledOut } from '../../../serving/index.ts';
import { deploymentsOf } from '../servers.ts';
import { missingParts } from '../decide.ts';
import type { PoolSnapshot, RolloutPlan } from '../snapshot.ts';
import { lostPlace, shortOfPlaces, withPlaces } from './places.ts';
import { keptJobs, poolSets } from './golden.ts';
import { desiredArm, leavingPlan, planOf, type InUse } from './plan.ts';
import { anyDefault, poolIndex } from '../../../runtime/poolIndex.ts';

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
    if (before?.stable !== undefined && !knows(snapshot, before.stable)) return { lost: lostOf(before, before.stable), release: free };
    const golden = await this.#golden(snapshot, spec, signal);
    const seen = await this.#see(snapshot, spec, { now, golden }, signal);
    const decide = (lockedBy: string | undefined): RolloutStatus =>
      withPlaces(progress(before, spec, { ...seen, lockedBy }, this.#trials.designs), shortOfPlaces(pool, desiredArm(snapshot)));
    const { status, release } = await this.#lock.ofPool(pool, { before, lockedBy: seen.lockedBy, decide }, signal);
    const plan = planOf(snapshot, status, inUse, now);
    if (plan === undefined) return { lost: lostOf(status, status.stable ?? ''), release };
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

function lostOf(status: RolloutStatus, revision: string): RolloutStatus {
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
