import { type RecordedArm, recordedArms } from '../../operands/index.ts';
import type { EnergyModel, Expert, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { artifactsClaim } from '../../pools/names.ts';
import { type LatencyReader, namedPolicy } from '../../revisions/index.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import type { Heartbeats } from '../../runtime/heartbeats.ts';
import type { Pod } from '../../runtime/resources.ts';
import { clusterAccess, newestReady, type AskInfo, type InfoReader, type NoteReader } from '../../serving/index.ts';
import { accessIndex, childKinds, childrenIn, jobsOf, type ChildCaches, type Child } from './children.ts';
import { homeOf } from '../../operands/manifest.ts';
import { type ReplayReader, countTasks, type PoolSnapshot } from './snapshot.ts';
import { Tenancy } from './tenancy.ts';
import { readProgress, weightsViews } from './manifests/weights.ts';
import { warmIndex } from '../../runtime/caches.ts';
import { keyOf } from '@agentfleet/kube';

/** Sources that pools are observed with. */
export interface PoolObserver {
  readonly context: OperatorContext;
  readonly children: ChildCaches;
  readonly heartbeats: Heartbeats;
  readonly replays: ReplayReader;
  readonly notes: NoteReader;
  readonly infos: InfoReader;
  readonly latencies: LatencyReader;
  /** Asks a job how far it is. */
  readonly ask: AskInfo;
}

/**
 * Namespaces that the workers serve and may read already: a worker that watches where it may not would be refused, and
 * would not be ready.
 */
function servedNamespaces(children: ChildCaches, tenancy: Tenancy, pool: ExpertPool): readonly string[] {
  const open = new Set(
    children.roleBindings.lister
      .byIndex(accessIndex, keyOf(pool))
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.namespace),
  );
  return tenancy.namespacesOf(pool).filter((namespace) => open.has(namespace));
}

function childrenOf({ context, children }: PoolObserver, pool: ExpertPool): readonly Child[] {
  return childrenIn(childKinds(context.caches, children), homeOf(pool), ({ metadata: { labels: own } }) => {
    // Those of a model only to see that their names are taken: nothing but what the pool owns is ever removed.
    return own?.[labels.pool] === pool.metadata.name || own?.[labels.model] !== undefined;
  });
}

/** The pods to be asked what they are: one of each expert, in each of its revisions. */
export function reportedBy(pool: ExpertPool, pods: readonly Pod[]): readonly Pod[] {
  return pool.spec.experts.flatMap(({ name }) => {
    const own = pods.filter(({ metadata }) => metadata.labels?.[labels.expert] === name);
    const byRevision = Map.groupBy(own, ({ metadata }) => metadata.labels?.[labels.revision]);
    return [...byRevision.values()].flatMap((some) => newestReady(some) ?? []);
  });
}

/** One that is being deleted is none: what serves it goes with it. */
function modelOf({ caches }: OperatorContext, pool: ExpertPool): EnergyModel | undefined {
  const { energyModelRef } = pool.spec;
  if (energyModelRef === undefined) return undefined;
  const model = caches.energyModels.lister.get(`${homeOf(pool)}/${energyModelRef.name}`);
  return model?.metadata.deletionTimestamp === undefined ? model : undefined;
}

/** Asks the pods of a pool about themselves: what runs, how long they take, how far they are. */
async function askPods({ context, infos, latencies, ask }: PoolObserver, pool: ExpertPool, signal: AbortSignal) {
  const { caches, config, clock } = context;
  const pods = caches.pods.lister.byIndex('pool', keyOf(pool));
  const running = countTasks(new Tenancy(caches, config).tasksOf(pool)).running > 0;
  const reported = await Promise.all([infos.read(reportedBy(pool, pods), signal), latencies.read(pods, running, signal)]);
  const progress = await readProgress(pods, ask, clock, signal);
  const gateways = pods.filter(({ metadata }) => metadata.labels?.[labels.component] === 'gateway');
  const byRevision = Map.groupBy(gateways, ({ metadata }) => metadata.labels?.[labels.revision]);
  const modelFaults = new Map([...byRevision].map(([revision, alike]) => [revision, latencies.faults(alike)]));
  return { infos: reported[0], latencies: reported[1], modelFaults, progress };
}

/** Reads all that decisions about a pool are made from. What no cache holds is asked for, and remembered for a while. */
export async function observePool(observer: PoolObserver, pool: ExpertPool, signal: AbortSignal): Promise<PoolSnapshot> {
  const { context, children, heartbeats } = observer;
  const { caches, config } = context;
  const [namespace, given] = [homeOf(pool), administered(context)];
  const recorded = recordedArms(pool, config.images, children.controllerRevisions.lister.list({ namespace }));
  const replays = await observer.replays.read(withAll(pool, recorded), signal);
  const notes = await observer.notes.read(caches.pods.lister.byIndex('pool', keyOf(pool)), signal, jobsOf(children, pool));
  const { infos, latencies, modelFaults, progress } = await askPods(observer, pool, signal);
  // From here on nothing waits, so that all caches are read at one moment.
  const tenancy = new Tenancy(caches, config);
  const energyModel = modelOf(context, pool);
  const pods = caches.pods.lister.byIndex('pool', keyOf(pool));
  const deployments = caches.deployments.lister.list({ namespace });
  return {
    pool,
    ...given,
    energyModel,
    policy: namedPolicy(pool, 'ExpertPool', caches.rolloutPolicies.lister),
    judgePolicy: energyModel && namedPolicy(energyModel, 'EnergyModel', caches.rolloutPolicies.lister),
    namespaces: servedNamespaces(children, tenancy, pool),
    missingGrants: tenancy.missingGrants(pool),
    counts: countTasks(tenancy.tasksOf(pool)),
    replays,
    children: childrenOf(observer, pool),
    deployments: new Map(deployments.map((deployment) => [deployment.metadata.name, deployment])),
    claim: caches.persistentVolumeClaims.lister.get(`${namespace}/${artifactsClaim(pool.metadata.name)}`),
    pods,
    madeAhead: caches.pods.lister.byIndex(warmIndex, keyOf(pool)),
    alive: new Set(pods.map(({ metadata }) => metadata.name).filter((name) => heartbeats.freshMs(`${namespace}/${name}`) > 0)),
    notes,
    infos,
    ...(latencies !== undefined && { latencies }),
    modelFaults,
    recorded,
    weights: weightsViews({ ...given, pool, others: expertsOf(recorded), pods, progress, notes }),
  };
}

/** Returns the decisions of the administrator for all pools, and the known facts about the cluster. */
function administered(
  context: OperatorContext,
): Pick<PoolSnapshot, 'images' | 'egress' | 'operatorNamespace' | 'access' | 'reach' | 'settings' | 'prometheusNamespace'> {
  const { images, egress, namespace: operatorNamespace, operands: settings, prometheusNamespace, workerEgress = [] } = context.config;
  const { proxy, tracing } = settings ?? {};
  const reach = { apiServer: context.apiServer?.list() ?? [], more: workerEgress, proxy: proxy?.url, tracing: tracing?.endpoint };
  return { images, egress, operatorNamespace, access: clusterAccess(context), reach, settings, prometheusNamespace };
}

const expertsOf = (recorded: ReadonlyMap<string, RecordedArm>): readonly Expert[] =>
  [...recorded.values()].flatMap(({ experts }) => experts);

/** The pool with the experts of all its revisions: their recordings are needed too. */
function withAll(pool: ExpertPool, recorded: ReadonlyMap<string, RecordedArm>): ExpertPool {
  const experts = [...pool.spec.experts, ...expertsOf(recorded)];
  return { ...pool, spec: { ...pool.spec, experts } };
}
