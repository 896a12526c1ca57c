import { createServedNamespaceController } from './controllers/expertpool/served/controller.ts';
import {
  EventRecorder,
  events,
  fencedTransport,
  inService,
  LeaderElector,
  leases,
  Manager,
  ResourceClient,
  TokenSource,
  type Clock,
  type Controller,
  type Log,
  type ManagedCache,
  type ManagerOptions,
  type Random,
  type Transport,
  asError,
  canonical,
  sleep,
} from '@agentfleet/kube';
import { expertsAudience, loopback, metricsAudience } from '@agentfleet/protocol/tokens';
import type { Tracing } from '@agentfleet/protocol/tracing';
import type { Registry } from 'prom-client';
import type { ProcessConfig } from './config.ts';
import { createAgentTaskController } from './controllers/agenttask/index.ts';
import { createAgentTaskOrderController } from './controllers/agenttaskorder/controller.ts';
import { createEnergyModelController } from './controllers/energymodel/index.ts';
import {
  childKinds,
  ChildWriter,
  createChildCaches,
  createExpertPoolController,
  type ChildCaches,
} from './controllers/expertpool/index.ts';
import {
  cachedPlacementView,
  createGpuCaches,
  createPlacementController,
  defaultDriver,
  type GpuCaches,
} from './controllers/placement/index.ts';
import { createExpertScaleController } from './controllers/expertscale/index.ts';
import { createWarmPoolController } from './controllers/warmpool/index.ts';
import { authorizeReaders, ScraperTokens } from './metrics/scraperTokens.ts';
import { registerFleetMetrics, registerOverdue } from './metrics/fleet.ts';
import { registerOwnerMetrics } from './metrics/owners.ts';
import { registerPlacementMetrics } from './metrics/placement.ts';
import { registerRolloutMetrics, registerShadowMetrics } from './metrics/rollouts.ts';
import { registerSpendingMetrics } from './metrics/spending.ts';
import { ApiEndpoints, type Caches, type OperatorContext } from './runtime/context.ts';
import { createCaches } from './runtime/caches.ts';
import { Heartbeats } from './runtime/heartbeats.ts';
import {
  EngineReader,
  LatencyReader,
  metricsByHttp,
  QueryReader,
  RolloutLock,
  textByHttp,
  Trials,
  type AskMetrics,
} from './revisions/index.ts';
import { resources } from './runtime/resources.ts';
import { askByHttp, InfoReader, operatorAccount, type AskInfo, type BearerFor } from './serving/index.ts';

/** Name of the Lease that the leader holds, in the namespace of the operator; the chart's Role names it. */
export const leaseName = 'agentfleet-operator';

export interface StartOptions {
  readonly config: ProcessConfig;
  /** The way to the API server; closed by the caller. */
  readonly transport: Transport;
  /** New at every start, so that a restarted process is another candidate. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly registry: Registry;
  /** Recorder of spans of tasks; default: spans go nowhere. */
  readonly tracing?: Tracing;
  /** Address on which probes and metrics listen; default every address. */
  readonly host?: string;
  /** Asks experts and verifiers for their info; default by HTTP. */
  readonly ask?: AskInfo;
  /** Asks them for their metrics; default by HTTP. */
  readonly askMetrics?: AskMetrics;
}

/** The operator, put together and not started. */
export interface Operator {
  readonly manager: Manager;
  readonly context: OperatorContext;
  /** Runs until the signal is aborted and everything stopped; rejects when a part failed or the lease was lost. */
  run(signal: AbortSignal): Promise<void>;
}

/** Its client is not fenced: it is what raises the fence. */
function electorOf({ config, transport, identity, clock, random, log, registry }: StartOptions): LeaderElector | undefined {
  if (!config.leaderElection) return undefined;
  const client = new ResourceClient(transport, leases, 'lease');
  return new LeaderElector({
    client,
    namespace: config.namespace,
    name: leaseName,
    identity,
    clock,
    random,
    log,
    registry,
    ...config.election,
  });
}

/** Events are not fenced: they report what was done, also in the last moment of a leader. */
function recorderOf({ config, transport, clock, random, log }: StartOptions): EventRecorder {
  const client = new ResourceClient(transport, events);
  return new EventRecorder({
    client,
    reportingController: 'agentfleet.dev/operator',
    reportingInstance: config.podName,
    clock,
    random,
    log,
  });
}

interface Shared {
  readonly children: ChildCaches;
  readonly gpus: GpuCaches;
  readonly heartbeats: Heartbeats;
  readonly ask: AskInfo;
  readonly askMetrics: AskMetrics;
  readonly askGateway: AskMetrics;
}

function controllersOf(context: OperatorContext, shared: Shared): readonly Controller[] {
  const { children, gpus, heartbeats, ask, askMetrics, askGateway } = shared;
  const writer = new ChildWriter(context.transport, childKinds(context.caches, children), context.config.operands);
  const infos = new InfoReader({ ask, clock: context.clock, log: context.log });
  const { clock, log } = context;
  const queries = new QueryReader({ ask: textByHttp, clock, log });
  const trials = new Trials(context, new EngineReader({ ask: askMetrics, clock, log }), queries);
  const latencies = new LatencyReader({ expert: askMetrics, gateway: askGateway, clock, log });
  const lock = new RolloutLock(context.transport);
  return [
    createAgentTaskController(context),
    createAgentTaskOrderController(context),
    createServedNamespaceController(context, { children, writer }),
    createExpertPoolController(context, { children, writer, heartbeats, infos, latencies, ask, trials, lock }),
    createPlacementController(context, gpus, children.controllerRevisions),
    createExpertScaleController(context, gpus, children.controllerRevisions),
    createWarmPoolController(context),
    createEnergyModelController(context, { children, writer, infos, trials, lock }),
  ];
}

function allCaches(caches: Caches, children: ChildCaches): readonly ManagedCache[] {
  return [...(Object.values(caches) as ManagedCache[]), ...(Object.values(children) as ManagedCache[])];
}

/**
 * Returns the functions that ask servers, with tokens in the name of the operator's own account: for those of one namespace each,
 * and for the metrics of gateways, which it may not ask anything else.
 */
function askersOf(options: StartOptions): Pick<Shared, 'ask' | 'askMetrics' | 'askGateway'> {
  const { config, transport, clock } = options;
  const client = new ResourceClient(transport, resources.serviceAccounts);
  const source = new TokenSource({ client, account: { namespace: config.namespace, name: operatorAccount }, clock });
  const experts: BearerFor = async (namespace) => `Bearer ${await source.token(expertsAudience(namespace))}`;
  const metrics: BearerFor = async () => `Bearer ${await source.token(metricsAudience)}`;
  const { ask = askByHttp(experts), askMetrics = metricsByHttp(experts) } = options;
  return { ask, askMetrics, askGateway: options.askMetrics ?? metricsByHttp(metrics) };
}

/** Gauges over the caches. */
function registerMetrics({ registry, caches, config, clock }: OperatorContext, heartbeats: Heartbeats): void {
  registerFleetMetrics({ registry, caches, reach: config, heartbeats });
  registerRolloutMetrics(registry, caches);
  registerSpendingMetrics(registry, caches, clock);
  registerShadowMetrics(registry, caches);
  registerOwnerMetrics(registry, caches, clock);
  registerOverdue(registry, caches, config, clock);
}

/** Returns the address at which metrics are served, and the check of their readers. */
function metricsAt({ config, clock, host }: StartOptions, tokens: ClusterTokens): NonNullable<ManagerOptions['metrics']> {
  const { metricsPort: port, authentication, metricsReaders = [] } = config;
  if (authentication === 'None') return { port, host: loopback };
  return { port, ...(host === undefined ? {} : { host }), authorize: authorizeReaders(tokens, metricsReaders, clock) };
}

/** Between two questions to an API server that is out of service, ms. */
const askAgainMs = 1000;

/** Reads the signing keys. An API server that is out of service is waited for: a process that ended at each try would be started ever later. */
async function untilKnown({ transport, clock, log }: StartOptions, tokens: ClusterTokens, signal: AbortSignal): Promise<void> {
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      return await tokens.refresh(signal);
    } catch (error) {
      if (signal.aborted || inService(error)) throw error;
      if (tries === 0) log.warn('the API server is not in service; it is waited for', { error: asError(error).message });
    }
    await transport.reachability?.answered(signal);
    await sleep(clock, askAgainMs, signal);
  }
}

function managerOf(options: StartOptions, elector: LeaderElector | undefined, tokens: ClusterTokens): Manager {
  const { config, clock, log, registry, host } = options;
  // Sandboxes are made with the signing keys, so nothing starts before they are known.
  const prepare = (signal: AbortSignal): Promise<void> => untilKnown(options, tokens, signal);
  const probes = { port: config.probesPort, ...(host === undefined ? {} : { host }) };
  return new Manager({ clock, log, registry, elector, prepare, probes, metrics: metricsAt(options, tokens) });
}

/** Returns the parts that keep tokens for PodMonitors, where there are some. */
function scraperTokensOf(
  { transport, clock, log }: OperatorContext,
  { namespace, metricsSecret: secret }: ProcessConfig,
): readonly ScraperTokens[] {
  return secret === undefined ? [] : [new ScraperTokens({ transport, namespace, secret, clock, log })];
}

/** Puts the parts of the operator together; nothing is read or written before `run`. */
export function createOperator(options: StartOptions): Operator {
  const { config, transport, clock, random, log, registry } = options;
  const [elector, recorder] = [electorOf(options), recorderOf(options)];
  const tokens = new ClusterTokens({ transport, clock, log });
  const { apiService: service } = config;
  const apiServer = new ApiEndpoints({ transport, clock, log, ...(service !== undefined && { service }) });
  // Reads need no fence; one set of caches serves a leader and a standby alike.
  const cached = { transport, clock, random, log, namespaces: config.watchNamespaces };
  const caches = createCaches({ ...cached, kueue: config.kueue === true });
  const children = createChildCaches(cached);
  const context: OperatorContext = {
    ...(options.tracing !== undefined && { tracing: options.tracing }),
    config,
    transport: elector === undefined ? transport : fencedTransport(transport, elector.fence),
    clock,
    random,
    log,
    registry,
    events: recorder,
    caches,
    tokens,
    apiServer,
    unprepared: new Map(),
  };
  const heartbeats = new Heartbeats(caches.leases, clock);
  registerMetrics(context, heartbeats);
  const manager = managerOf(options, elector, tokens);
  const gpus = createGpuCaches(cached, (config.gpus ?? defaultDriver).driver);
  const records = children.controllerRevisions;
  registerPlacementMetrics(registry, () => cachedPlacementView({ context, gpus, records }, clock.now()));
  for (const cache of [...allCaches(caches, children), ...(Object.values(gpus) as ManagedCache[])]) manager.addCache(cache);
  manager.add(recorder).add(tokens).add(apiServer);
  for (const controller of controllersOf(context, { children, gpus, heartbeats, ...askersOf(options) })) manager.addController(controller);
  for (const runnable of scraperTokensOf(context, config)) manager.addController(runnable);
  return { manager, context, run: (signal) => manager.run(signal) };
}

const refreshMs = 300_000;

/** The API server answers with the media type of RFC 7517, and refuses who does not accept it. */
const accept = 'application/jwk-set+json, application/json;q=0.9';

/** Issuer and signing keys of the cluster's ServiceAccount tokens, with which keepers verify tokens (OpenID discovery). */
export class ClusterTokens {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listeners = new Set<() => void>();
  #issuer: string | undefined;
  #jwks: string | undefined;

  constructor(options: { readonly transport: Transport; readonly clock: Clock; readonly log: Log }) {
    this.#transport = options.transport;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Throws before the first `refresh`. */
  issuer(): string {
    if (this.#issuer === undefined) throw new Error('the issuer of tokens has not been read yet; call refresh first');
    return this.#issuer;
  }

  /** JSON with sorted keys, so that equal keys give equal text. Throws before the first `refresh`. */
  jwks(): string {
    if (this.#jwks === undefined) throw new Error('the signing keys of tokens have not been read yet; call refresh first');
    return this.#jwks;
  }

  /** Calls `listener` after every change. The function returned ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads both from the API server. Rejects when it does not answer or the answer is not discovery; what was known stays. */
  async refresh(signal?: AbortSignal): Promise<void> {
    const discovery = await this.#get<{ readonly issuer?: unknown }>('/.well-known/openid-configuration', signal);
    const keys = await this.#get<{ readonly keys?: unknown }>('/openid/v1/jwks', signal);
    if (typeof discovery.issuer !== 'string' || !Array.isArray(keys.keys) || keys.keys.length === 0) {
      throw new Error(
        `the API server ${this.#transport.host} publishes no token issuer with keys; enable ServiceAccount issuer discovery (--service-account-issuer)`,
      );
    }
    const jwks = canonical(keys);
    const changed = this.#issuer !== undefined && (this.#issuer !== discovery.issuer || this.#jwks !== jwks);
    this.#issuer = discovery.issuer;
    this.#jwks = jwks;
    if (!changed) return;
    this.#log.info('the token signing keys changed', { issuer: discovery.issuer, keys: keys.keys.length });
    for (const listener of this.#listeners) listener();
  }

  /** Refreshes every five minutes until the signal is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (await sleep(this.#clock, refreshMs, signal)) {
      try {
        await this.refresh(signal);
      } catch (error) {
        if (!signal.aborted) this.#log.warn('the token signing keys were not refreshed', { error: asError(error).message });
      }
    }
  }

  #get<T>(path: string, signal: AbortSignal | undefined): Promise<T> {
    return this.#transport.request<T>({ method: 'GET', path, accept, signal });
  }
}
