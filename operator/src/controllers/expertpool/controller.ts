import {
  Controller,
  done,
  requeueAfter,
  sourceOf,
  ResourceClient,
  type Outcome,
  type ReconcileContext,
  annotationsChanged,
  anyOf,
  generationChanged,
  keyOf,
  labelsChanged,
  toController,
  watches,
  type Informer,
  type KubeObject,
  type ObjectKey,
  type Predicate,
  type Source,
} from '@agentfleet/kube';
import type { ExpertPool, AgentTask, EnergyModel, PoolGrant, RolloutPolicy } from '@agentfleet/protocol/api';
import { type LatencyReader, lookMs, type RolloutLock, type Trials, namesPolicy } from '../../revisions/index.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import { type Heartbeats, changeSource } from '../../runtime/heartbeats.ts';
import { isTerminating, resources } from '../../runtime/resources.ts';
import { type ChildCaches, type ChildWriter, isGone, jobsOf, makesAnew, accessOf, childKinds } from './children.ts';
import { lostStatus } from './conditions.ts';
import { decidePool, executePool } from './decide.ts';
import { homeOf } from '../../operands/manifest.ts';
import { NoteReader, notePollMs } from '../../serving/notes.ts';
import { observePool, reportedBy, type PoolObserver } from './observe.ts';
import { infoRetryMs, isPodless, isPreparing, type AskInfo, type InfoReader } from '../../serving/index.ts';
import { replayPollMs, ReplayReader, type PoolSnapshot, countedAs } from './snapshot.ts';
import { planPool, withPlan } from './rollouts.ts';
import { poolStatus } from './status.ts';
import { isFetching, progressPollMs } from './manifests/weights.ts';
import { StatusWriter } from './statusWriter.ts';
import { planChanged } from '../../operands/index.ts';
import { labels } from '@agentfleet/protocol/pool';
import { warmEntry } from '../../pools/resolve.ts';
import { scaledPool } from '../../pools/scales.ts';
import { traitsOf } from '../../runtime/taskCensus.ts';
import { anyDefault, namedBy, namedPool, warmOf } from '../../runtime/caches.ts';

/** Dependencies of this controller besides the context. */
interface ExpertPoolOptions {
  readonly children: ChildCaches;
  readonly writer: ChildWriter;
  readonly heartbeats: Heartbeats;
  readonly infos: InfoReader;
  readonly latencies: LatencyReader;
  /** Asks a job how far it is. */
  readonly ask: AskInfo;
  readonly trials: Trials;
  readonly lock: RolloutLock;
}

/** A look without a reason: for what no event reports, such as a default pool that others stopped to compete with. */
const idleMs = 300_000;

/** Every task that moves is a reason to look; a pool's counts of its tasks may be this much older, ms. */
const floorMs = 250;

/** A Lease is surely old this long after it stopped to be fresh, ms. */
const leaseSlackMs = 100;

/** Ms after which time alone may change what is decided. */
function nextLookMs(snapshot: PoolSnapshot, { children, heartbeats }: ExpertPoolOptions, heldMs: number | undefined): number {
  const { pool, pods, alive, replays, infos, latencies, rollout } = snapshot;
  const namespace = homeOf(pool);
  const recordings = [...replays.values()].map(({ hash }) => (hash === undefined ? replayPollMs.missing : replayPollMs.present));
  const leases = [...alive].map((name) => heartbeats.freshMs(`${namespace}/${name}`) + leaseSlackMs);
  const silent = reportedBy(pool, pods).some(({ metadata }) => !infos.has(metadata.name));
  const polls = [
    ...(pods.some(isPreparing) || jobsOf(children, pool).some(isPodless) ? [notePollMs] : []),
    ...(silent ? [infoRetryMs] : []),
    ...(pods.some(isFetching) ? [progressPollMs] : []),
    ...(latencies === undefined ? [] : [lookMs]),
  ];
  return Math.min(idleMs, ...recordings, ...leases, ...polls, heldMs ?? idleMs, rollout?.againMs ?? idleMs);
}

function observerOf(context: OperatorContext, { children, heartbeats, infos, latencies, ask }: ExpertPoolOptions): PoolObserver {
  const { transport, clock, log } = context;
  const notes = new NoteReader({ transport, clock, log });
  return { context, children, heartbeats, replays: new ReplayReader(transport, clock), notes, infos, latencies, ask };
}

/** Keeps what a pool consists of in its own namespace, and its status. */
export function createExpertPoolController(context: OperatorContext, options: ExpertPoolOptions): Controller {
  const { caches, clock, transport } = context;
  const { children, writer, heartbeats, trials, lock } = options;
  const observer = observerOf(context, options);
  const status = new StatusWriter(context, resources.expertPools, caches.pools);
  const pools = new ResourceClient<ExpertPool>(transport, resources.expertPools);
  const follow = async (pool: ExpertPool, snapshot: PoolSnapshot, signal: AbortSignal): Promise<Outcome> => {
    const decision = decidePool(snapshot);
    if (makesAnew(decision.apply, snapshot.children) && (await isGone(pools, pool, signal))) return done;
    const { deployments, obstacles, refusal } = await executePool(decision, writer, signal);
    const after = { ...snapshot, deployments: new Map([...snapshot.deployments, ...deployments]) };
    const heldMs = await status.write(pool, poolStatus(after, obstacles, clock.now()), signal);
    if (refusal !== undefined) throw refusal;
    return requeueAfter(nextLookMs(snapshot, options, heldMs));
  };
  const reconcile = async (key: string, { signal }: ReconcileContext): Promise<Outcome> => {
    const found = caches.pools.lister.get(key);
    const pool = found === undefined ? undefined : scaledPool(found, caches.expertScales.lister.list({ namespace: homeOf(found) }));
    // Everything that belongs to the pool goes with it, or with its namespace, by itself.
    if (pool === undefined || pool.metadata.deletionTimestamp !== undefined || isTerminating(caches.namespaces.lister.get(homeOf(pool))))
      return done;
    const seen = await observePool(observer, pool, signal);
    return planPool({ context, trials, lock }, seen, signal, async (planned) => {
      if (!('lost' in planned)) return follow(pool, withPlan(seen, planned.plan), signal);
      const heldMs = await status.write(pool, lostStatus(pool, planned.lost, clock.now()), signal);
      return requeueAfter(heldMs ?? idleMs);
    });
  };
  const sources = poolSources(context, children, heartbeats);
  return new Controller({ name: 'expertpool', sources, reconcile, maxConcurrent: 4, floorMs, ...context });
}

/** Reports whether a change concerns what a pool counts or serves. */
const taskMoved: Predicate<AgentTask> = (change) => {
  if (change.type !== 'update') return true;
  const [a, b] = [change.old.status, change.object.status];
  return countedAs(traitsOf(change.old)) !== countedAs(traitsOf(change.object)) || a?.assignment?.worker !== b?.assignment?.worker;
};

/** The pool in whose namespace the object is, by its label. */
const labelled = (object: KubeObject): readonly ObjectKey[] => namedBy(object, labels.pool);

/** Pools that a task may belong to. */
function poolsOf({ caches }: OperatorContext): (task: AgentTask) => readonly ObjectKey[] {
  return (task) => {
    const named = namedPool(task);
    const keys = named === anyDefault ? [...caches.pools.lister.values()].filter(({ spec }) => spec.default).map(keyOf) : [named];
    const { worker, workerNamespace } = task.status?.assignment ?? {};
    const pod = caches.pods.lister.get(`${workerNamespace ?? ''}/${worker ?? ''}`);
    return [...keys, ...(pod === undefined ? [] : labelled(pod))];
  };
}

/** A worker's Lease has the name of its pod. */
function leaseSource({ caches }: OperatorContext, heartbeats: Heartbeats): Source {
  return sourceOf('heartbeats', (enqueue) =>
    heartbeats.onChange((key) => {
      const pod = caches.pods.lister.get(key);
      for (const pool of pod === undefined ? [] : labelled(pod)) enqueue(pool);
    }),
  );
}

/** An expert was granted another number of pods. */
function scaleSource({ caches }: OperatorContext): Source {
  return watches(caches.expertScales, {
    map: ({ metadata, spec }) => [`${metadata.namespace ?? ''}/${spec.poolRef.name}`],
    predicate: (change) => change.type !== 'update' || change.old.status?.granted !== change.object.status?.granted,
  });
}

/** The model that a pool names, and the policies of both. */
function modelSources({ caches }: OperatorContext): readonly Source[] {
  const { pools, energyModels, rolloutPolicies } = caches;
  const naming = ({ metadata }: EnergyModel): readonly ObjectKey[] =>
    pools.lister
      .list({ namespace: metadata.namespace ?? '' })
      .filter(({ spec }) => spec.energyModelRef?.name === metadata.name)
      .map(keyOf);
  // A model's policy sets how much its shadow is copied, which workers read in the pool's brief.
  const ruled = (policy: RolloutPolicy): readonly ObjectKey[] => {
    const namespace = policy.metadata.namespace ?? '';
    const byModel = energyModels.lister.list({ namespace }).filter((model) => namesPolicy(model, policy));
    const own = pools.lister.list({ namespace }).filter((pool) => namesPolicy(pool, policy));
    return [...own.map(keyOf), ...byModel.flatMap(naming)];
  };
  return [watches(energyModels, { map: naming }), watches(rolloutPolicies, { map: ruled, predicate: generationChanged })];
}

/** All that makes a pool be looked at again. */
export function poolSources(context: OperatorContext, children: ChildCaches, heartbeats: Heartbeats): readonly Source[] {
  const { tasks, pods, pools, poolGrants, namespaces } = context.caches;
  const owner = toController(resources.expertPools, (key) => pools.lister.get(key));
  const child = (cache: Informer): Source =>
    watches(cache, {
      // Objects that a pool keeps have no owner, and those that stand elsewhere have a label.
      map: (object) => [...new Set([...owner(object), ...labelled(object), ...accessOf(object)])],
    });
  const selecting = (): readonly ObjectKey[] =>
    [...pools.lister.values()].filter(({ spec }) => spec.allowedNamespaces.from === 'Selector').map(keyOf);
  const wanting = ({ metadata }: PoolGrant): readonly ObjectKey[] =>
    [...pools.lister.values()].filter((pool) => pool.spec.default || warmEntry(pool, metadata.namespace ?? '') !== undefined).map(keyOf);
  return [
    // An annotation lists which ablations its tasks may ask for; the plan has the places of its experts.
    watches<ExpertPool>(pools, { predicate: anyOf<ExpertPool>(generationChanged, annotationsChanged, planChanged) }),
    watches(tasks, { map: poolsOf(context), predicate: taskMoved }),
    watches(pods, {
      // Sandboxes are counted when they were made ahead.
      map: (pod) => (pod.metadata.labels?.[labels.component] === 'sandbox' ? warmOf(pod) : labelled(pod)),
    }),
    watches(poolGrants, { map: wanting }),
    scaleSource(context),
    ...modelSources(context),
    watches(namespaces, { map: selecting, predicate: labelsChanged }),
    leaseSource(context, heartbeats),
    changeSource(context.tokens, () => [...pools.lister.values()].map(keyOf)),
    ...(context.apiServer === undefined ? [] : [changeSource(context.apiServer, () => [...pools.lister.values()].map(keyOf))]),
    ...childKinds(context.caches, children).map(({ cache }) => child(cache)),
  ];
}
