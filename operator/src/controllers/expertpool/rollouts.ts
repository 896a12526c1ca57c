import { keyOf } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import type { GoldenArm } from '@agentfleet/protocol/golden';
import { labels } from '@agentfleet/protocol/pool';
import { type PoolArm, needsGpu, serverHash } from '../../operands/index.ts';
import { homeOf } from '../../operands/manifest.ts';
import { itemOf } from '../../placement/index.ts';
import { goldenServiceAccount, rolloutLedgerName } from '../../pools/names.ts';
import {
  followRollout,
  lostOf,
  poolLockedBy,
  shortOf,
  type Followers,
  type Planned,
  type Revisions,
  type Seen,
} from '../../revisions/index.ts';
import { anyDefault, poolIndex } from '../../runtime/caches.ts';
import { type Job, resources } from '../../runtime/resources.ts';
import { revisionIndex } from '../../runtime/taskCensus.ts';
import { engineState } from '../../serving/index.ts';
import { missingParts } from './decide.ts';
import { parts, verifier } from './manifests/brief.ts';
import { desiredArm, leavingPlan, planOf, type InUse } from './rolloutPlan.ts';
import { armInput, deploymentsOf } from './servers.ts';
import type { PoolSnapshot, RolloutPlan } from './snapshot.ts';

/** Decides how the rollout of a pool goes on, and what the pool consists of meanwhile. */
export function planPool(followers: Followers, snapshot: PoolSnapshot, signal: AbortSignal): Promise<Planned<RolloutPlan>> {
  const { pool, policy, recorded } = snapshot;
  const { name } = pool.metadata;
  const inUse = inUseOf(followers, pool);
  const revisionsOf = (now: number): Revisions<RolloutPlan> => {
    const desired = desiredArm(snapshot);
    const items = itemsOf(desired);
    const lost = lostOf(pool.status, desired.revision, items);
    const obstacles = [...missingParts(snapshot).map(({ message }) => message), ...(lost === undefined ? [] : [lost])];
    return {
      desired: desired.revision,
      recorded,
      place: {
        owner: pool,
        name: rolloutLedgerName(name, 'pool'),
        labels: { [labels.component]: 'expert', [labels.pool]: name },
      },
      golden: goldenSets(snapshot, [...(recorded?.values() ?? []), desired], now),
      trial: { arm: 'revision', pods: (revision) => podsOf(snapshot, revision) },
      canaryEngines: enginesOf(snapshot, desired, now),
      incompatible: obstacles.length === 0 ? undefined : obstacles.join('; '),
      lockedBy: () => poolLockedBy(snapshot.energyModel),
      guard: (decider) => followers.lock.ofPool(pool, decider, signal),
      short: shortOf(pool.status?.plan, items),
      plan: (status) => planOf(snapshot, status, inUse, now),
    };
  };
  return followRollout(followers, { owner: pool, policy, leaving: () => leavingPlan(snapshot, inUse) }, revisionsOf, signal);
}

function inUseOf({ context }: Followers, pool: ExpertPool): InUse {
  const { lister } = context.caches.tasks;
  return {
    revision: (revision) => lister.byIndex(revisionIndex, revision).length > 0,
    plain: () =>
      [...lister.byIndex(poolIndex, keyOf(pool)), ...lister.byIndex(poolIndex, anyDefault)].some(
        ({ status }) => status?.assignment !== undefined && status.assignment.revision === undefined,
      ),
  };
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
  const { pool, energyModel, children, pods } = snapshot;
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
    kind: 'pool',
    labels: { [labels.pool]: name },
    serviceAccount: goldenServiceAccount(name),
    ready: (revision) => {
      const found = armOf(revision);
      return found !== undefined && enginesOf(snapshot, found, now) === 'Ready';
    },
    arm,
    jobs: children.flatMap(({ resource, object }) => (resource === resources.jobs ? [object as Job] : [])),
    pods: pods.filter(({ metadata }) => metadata.labels?.[labels.component] === 'golden'),
  };
}

/** Lists the names of the engines of a revision in the ledger of GPUs. */
export function itemsOf(arm: PoolArm): readonly string[] {
  return arm.experts.filter(needsGpu).map((expert) => itemOf(expert.name, serverHash(arm, expert)));
}
