import { Controller, done, isConflict, requeueAfter, ResourceClient, type Outcome, type ReconcileContext } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import type { RolloutLock, Trials } from '../../revisions/index.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import type { Heartbeats } from '../../runtime/heartbeats.ts';
import { type Namespace, resources } from '../../runtime/resources.ts';
import type { ChildCaches } from './caches.ts';
import type { ChildWriter } from './children.ts';
import { lostStatus } from './conditions.ts';
import { decidePool } from './decide.ts';
import { executePool } from './execute.ts';
import { homeOf } from '../../operands/manifest.ts';
import { NoteReader, notePollMs } from './notes.ts';
import { observePool, reportedBy, type PoolObserver } from './observe.ts';
import { infoRetryMs, isPreparing, type AskInfo, type InfoReader } from '../../serving/index.ts';
import { isGone, makesAnew } from './presence.ts';
import { replayPollMs, ReplayReader } from './replay.ts';
import { withPlan } from './rollout/plan.ts';
import { PoolRollouts } from './rollout/rollouts.ts';
import type { PoolSnapshot } from './snapshot.ts';
import { poolSources } from './sources.ts';
import { poolStatus } from './status.ts';
import { isFetching, progressPollMs } from './weights/index.ts';
import { PoolStatusWriter } from './statusWriter.ts';

/** What this controller needs beside the context. */
export interface ExpertPoolOptions {
  readonly children: ChildCaches;
  readonly writer: ChildWriter;
  readonly heartbeats: Heartbeats;
  readonly infos: InfoReader;
  /** Asks a job how far it is. */
  readonly ask: AskInfo;
  readonly trials: Trials;
  readonly lock: RolloutLock;
}

/** A look without a reason: what no event tells, such as a default pool that others stopped to compete with. */
const idleMs = 300_000;

/** Every task that moves is a reason to look; what a pool tells of its tasks may be this much older, ms. */
const floorMs = 250;

/** A Lease is surely old this long after it stopped to be fresh, ms. */
const leaseSlackMs = 100;

/** Whether nothing may be made in the namespace any more. */
function goes(namespace: Namespace | undefined): boolean {
  return namespace?.metadata.deletionTimestamp !== undefined || namespace?.status?.phase === 'Terminating';
}

/** Ms after which time alone may change what is decided. */
function nextLookMs(snapshot: PoolSnapshot, heartbeats: Heartbeats, heldMs: number | undefined): number {
  const { pool, pods, alive, replays, infos, rollout } = snapshot;
  const namespace = homeOf(pool);
  const recordings = [...replays.values()].map(({ hash }) => (hash === undefined ? replayPollMs.missing : replayPollMs.present));
  const leases = [...alive].map((name) => heartbeats.freshMs(`${namespace}/${name}`) + leaseSlackMs);
  const silent = reportedBy(pool, pods).some(({ metadata }) => !infos.has(metadata.name));
  const polls = [
    ...(pods.some(isPreparing) ? [notePollMs] : []),
    ...(silent ? [infoRetryMs] : []),
    ...(pods.some(isFetching) ? [progressPollMs] : []),
  ];
  return Math.min(idleMs, ...recordings, ...leases, ...polls, heldMs ?? idleMs, rollout?.againMs ?? idleMs);
}

/** Somebody changed the pool since it was read: what its rollout is to do is decided again, ms. */
const conflictMs = 100;

async function conflictless(write: Promise<number | undefined>): Promise<{ readonly heldMs: number | undefined } | 'Conflict'> {
  try {
    return { heldMs: await write };
  } catch (error) {
    if (!isConflict(error)) throw error;
    return 'Conflict';
  }
}

function observerOf(context: OperatorContext, { children, heartbeats, infos, ask }: ExpertPoolOptions): PoolObserver {
  const { transport, clock, log } = context;
  const notes = new NoteReader({ transport, clock, log });
  return { context, children, heartbeats, replays: new ReplayReader(transport, clock), notes, infos, ask };
}

/** Keeps what a pool consists of in its own namespace, and its status. */
export function createExpertPoolController(context: OperatorContext, options: ExpertPoolOptions): Controller {
  const { caches, clock, log, registry, transport } = context;
  const { children, writer, heartbeats, trials, lock } = options;
  const observer = observerOf(context, options);
  const status = new PoolStatusWriter(context);
  const rollouts = new PoolRollouts(context, trials, lock);
  const pools = new ResourceClient<ExpertPool>(transport, resources.expertPools);
  const follow = async (pool: ExpertPool, snapshot: PoolSnapshot, signal: AbortSignal): Promise<Outcome> => {
    const decision = decidePool(snapshot);
    if (makesAnew(decision.apply, snapshot.children) && (await isGone(pools, pool, signal))) return done;
    const { deployments, refusal } = await executePool(decision, writer, signal);
    const after = { ...snapshot, deployments: new Map([...snapshot.deployments, ...deployments]) };
    const obstacles = refusal === undefined ? decision.obstacles : [refusal.obstacle, ...decision.obstacles];
    const reported = await conflictless(status.write(pool, poolStatus(after, { ...decision, obstacles }, clock.now()), signal));
    if (reported === 'Conflict') return requeueAfter(conflictMs);
    const { heldMs } = reported;
    if (refusal !== undefined) throw refusal.error;
    return requeueAfter(nextLookMs(snapshot, heartbeats, heldMs));
  };
  const reconcile = async (key: string, { signal }: ReconcileContext): Promise<Outcome> => {
    const pool = caches.pools.lister.get(key);
    // Everything that belongs to the pool goes with it, or with its namespace, by itself.
    if (pool === undefined || pool.metadata.deletionTimestamp !== undefined || goes(caches.namespaces.lister.get(homeOf(pool))))
      return done;
    const seen = await observePool(observer, pool, signal);
    const planned = await rollouts.plan(seen, signal);
    try {
      if (!('lost' in planned)) return await follow(pool, withPlan(seen, planned.plan), signal);
      await status.write(pool, lostStatus(pool, planned.lost, clock.now()), signal);
      return requeueAfter(idleMs);
    } finally {
      planned.release();
    }
  };
  const sources = poolSources(context, children, heartbeats);
  return new Controller({ name: 'expertpool', sources, reconcile, maxConcurrent: 4, floorMs, clock, log, registry });
}
