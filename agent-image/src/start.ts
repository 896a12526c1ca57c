import { Agent } from 'undici';
import {
  asError,
  createTransport,
  fencedTransport,
  leases,
  ResourceClient,
  serveEndpoints,
  type ClusterConfig,
  type Endpoints,
  type Transport,
} from '@agentfleet/kube';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { bearerFromFile, loopback, type Bearer } from '@agentfleet/protocol/tokens';
import { BriefFollower } from './brief/follower.ts';
import type { WorkerConfig } from './base/config.ts';
import { ExpertsClient } from './experts/index.ts';
import { scrape } from '@agentfleet/protocol/tracing/scrape';
import { authorizeReaders, createMetrics, type WorkerMetrics } from './http/metrics.ts';
import { ResultsHandler } from './http/results.ts';
import { WorkerLease } from './lease/workerLease.ts';
import type { ArtifactStore } from './store/index.ts';
import { AssignmentRunnerFactory, type AssignmentRunnerFactoryOptions as RunnerOptions } from './tasks/factory.ts';
import { TaskTable, TaskWatches } from './tasks/table.ts';

export interface StartOptions extends Pick<RunnerOptions, 'engine' | 'openStore' | 'clock' | 'random' | 'log' | 'keeperPort'> {
  readonly config: WorkerConfig;
  readonly cluster: ClusterConfig;
  /** Throws when the engine no longer works: the process is started again. */
  readonly health?: () => void;
}

/** A worker that runs. */
export interface RunningWorker {
  readonly port: number;
  /** Hands the tasks over, takes the Lease away, closes everything; at most about 25 s. */
  stop(): Promise<void>;
}

/** Longest time for engines to finish their step at the end of the process, ms. */
export const handOverMs = 20_000;

interface Parts {
  readonly transport: Transport;
  readonly brief: BriefFollower;
  readonly metrics: WorkerMetrics;
  readonly stopping: AbortController;
  /** Parts that exist only once the first brief is there. */
  live: LiveParts | undefined;
}

interface LiveParts {
  readonly lease: WorkerLease;
  readonly table: TaskTable;
  readonly watches: TaskWatches;
  readonly renewing: AbortController;
  readonly renewal: Promise<void>;
  readonly dispatcher: Agent;
}

/** Starts a worker: probes at once, the Lease with the first brief, then the watches. Rejects when the port is taken. */
export async function startWorker(given: StartOptions): Promise<RunningWorker> {
  const stores = new Map<string, ArtifactStore>();
  const openStore: StartOptions['openStore'] = (place) => {
    const key = JSON.stringify(place);
    const store = stores.get(key) ?? given.openStore(place);
    stores.set(key, store);
    return store;
  };
  const options = { ...given, openStore };
  const { config, cluster, clock, random, log } = options;
  const metrics = createMetrics();
  const userAgent = `agentfleet-worker/${config.version} (${process.platform}/${process.arch})`;
  const transport = createTransport(cluster, { userAgent, connections: 8, registry: metrics.registry, clock, log });
  const { namespace } = config.pod;
  const brief = new BriefFollower({ transport, namespace, name: config.brief, clock, random, log });
  const parts: Parts = { transport, brief, metrics, stopping: new AbortController(), live: undefined };
  const endpoints = await serve(options, parts);
  const following = brief.run(parts.stopping.signal);
  const working = brief.first(parts.stopping.signal).then((first) => {
    if (first !== undefined && !parts.stopping.signal.aborted) parts.live = begin(options, parts, first);
  });
  const stop = async (): Promise<void> => {
    parts.stopping.abort();
    await working;
    if (parts.live !== undefined) await end(parts.live);
    await following;
    await Promise.all([endpoints.close(), transport.close()]);
  };
  let stopped: Promise<void> | undefined;
  return { port: endpoints.port, stop: () => (stopped ??= stop()) };
}

function serve({ config, openStore, health = () => {}, clock, log }: StartOptions, parts: Parts): Promise<Endpoints> {
  const results = new ResultsHandler({
    access: config.access,
    place: () => parts.brief.current?.storage,
    openStore,
    clock,
    log,
  });
  const need = (what: string | undefined): void => {
    if (what !== undefined) throw new Error(what);
  };
  return serveEndpoints({
    port: config.port,
    ...(config.access === null ? { host: loopback } : { authorize: authorizeReaders(config.access, clock, log) }),
    log,
    health: new Map([['engine', health]]),
    ready: new Map([
      ['brief', () => need(parts.brief.current === undefined ? parts.brief.problem : undefined)],
      ['lease', () => need(parts.live?.lease.fresh === true ? undefined : 'the lease is not fresh')],
      ['watches', () => need(parts.live?.watches.unsynced.length === 0 ? undefined : 'the tasks were not listed yet')],
      ['stopping', () => need(parts.stopping.signal.aborted ? 'the worker hands its tasks over' : undefined)],
    ]),
    scrape: (accept) => scrape(parts.metrics.registry, accept),
    more: results.handle,
  });
}

function bearerOf({ config: { tokenFile }, clock, log }: StartOptions): Bearer | undefined {
  if (tokenFile === null) return undefined;
  return bearerFromFile(tokenFile, clock, (error) => log.warn('the token for experts cannot be read', { error: asError(error).message }));
}

/** Deadlines of callers count. Probes find out that a node is gone, where a long answer of a model is silent. */
function connectionsToModels(): Agent {
  const connect = { timeout: 5000, keepAliveInitialDelay: 15_000 };
  return new Agent({ connect, keepAliveTimeout: 10_000, headersTimeout: 0, bodyTimeout: 0 });
}

function begin(options: StartOptions, { transport, brief, metrics }: Parts, first: PoolBrief): LiveParts {
  const { clock, random, log } = options;
  const { pod, concurrency } = options.config;
  const lease = new WorkerLease({ client: new ResourceClient(transport, leases, 'lease'), pod, pool: first.pool.name, clock, log });
  const dispatcher = connectionsToModels();
  const bearer = bearerOf(options);
  const factory = new AssignmentRunnerFactory({
    ...options,
    transport: fencedTransport(transport, lease.fence),
    brief: () => brief.current ?? first,
    experts: new ExpertsClient({ clock, random, log, dispatcher, bearer }),
    dispatcher,
    bearer,
    metrics,
  });
  const table: TaskTable = new TaskTable({
    pod,
    concurrency,
    find: (key) => watches.find(key),
    fresh: () => lease.fresh,
    begin: (task, onSpent) => factory.begin(task, onSpent),
    clock,
    log,
    onCount: (active) => metrics.tasks(active),
  });
  const watches = new TaskWatches({ transport, worker: pod.name, clock, random, log, onChange: (key) => table.sync(key) });
  lease.onChange((fresh) => {
    metrics.leaseFresh(fresh);
    table.syncAll(watches.keys());
  });
  brief.onChange(({ namespaces }) => watches.setNamespaces(namespaces));
  const renewing = new AbortController();
  return { lease, table, watches, renewing, renewal: lease.run(renewing.signal), dispatcher };
}

/** The Lease is renewed until the last report is written, and only then removed. */
async function end({ lease, table, watches, renewing, renewal, dispatcher }: LiveParts): Promise<void> {
  await table.handOver(handOverMs);
  await watches.stop();
  renewing.abort();
  await renewal;
  await lease.release();
  await dispatcher.destroy();
}
