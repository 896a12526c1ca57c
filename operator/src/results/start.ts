import {
  asError,
  ResourceClient,
  serveEndpoints,
  sleep,
  TokenSource,
  type Clock,
  type Log,
  type Random,
  type Transport,
} from '@agentfleet/kube';
import { resultsAccount } from '@agentfleet/protocol/results';
import { resources } from '../runtime/resources.ts';
import { Copies } from './copies.ts';
import { Delegation, readFrontProxy } from './callers.ts';
import { ResultsServer } from './server.ts';
import { ServingCertificate } from './serving.ts';
import { WorkersClient, type WorkersOptions } from './workers.ts';

interface ProcessOptions {
  readonly transport: Transport;
  /** Its own. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns the address of workers; another place in tests. */
  readonly urlOf?: WorkersOptions['urlOf'];
}

export interface ResultsOptions extends ProcessOptions {
  readonly port: number;
  readonly host?: string;
  /** Name of its Service. */
  readonly service?: string;
}

function workersFor({ transport, namespace, clock, urlOf }: ProcessOptions): WorkersClient {
  const tokens = new TokenSource({
    client: new ResourceClient(transport, resources.serviceAccounts),
    account: { namespace, name: resultsAccount },
    clock,
  });
  return new WorkersClient({ token: (audience) => tokens.token(audience), ...(urlOf !== undefined && { urlOf }) });
}

/** Time between two looks at certificate, APIService and the front proxy, ms; less after a failure. */
const everyMs = 60_000;
const againMs = 2000;

export interface RunningResults {
  readonly port: number;
  /** Resolves once followers were ended and answers given. */
  stop(): Promise<void>;
}

/** Starts the server: resolves when it listens and the API server knows its authority. Rejects when the signal comes before. */
export async function startResults(options: ResultsOptions, signal: AbortSignal): Promise<RunningResults> {
  const { transport, namespace, clock, log, service = resultsAccount } = options;
  const tasks = new ResourceClient(transport, resources.agentTasks);
  const certificate = new ServingCertificate({ transport, namespace, names: [`${service}.${namespace}.svc`], clock, log });
  const server = new ResultsServer({
    port: options.port,
    ...(options.host !== undefined && { host: options.host }),
    delegation: new Delegation(transport, clock),
    workers: workersFor(options),
    taskOf: (name, until) => tasks.find(name, { signal: until }),
    clock,
    log,
  });
  const stopping = new AbortController();
  const until = AbortSignal.any([signal, stopping.signal]);
  const refresh = async (): Promise<void> => server.use(await certificate.refresh(until), await readFrontProxy(transport, until));
  const follow = async (): Promise<void> => {
    for (let wait = everyMs; !until.aborted;) {
      await sleep(clock, wait, until).catch(() => undefined);
      if (until.aborted) return;
      wait = await tried(refresh, until, log);
    }
  };
  while ((await tried(refresh, until, log)) !== everyMs) await sleep(clock, againMs, until);
  signal.throwIfAborted();
  const following = follow();
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all([following, server.close()]);
  };
  return { port: server.port, stop };
}

interface CopyingOptions extends ProcessOptions {
  readonly random: Random;
  /** Of its probes. */
  readonly port: number;
  readonly host?: string;
  /** Tasks of these namespaces only; default: of all. */
  readonly watched?: readonly string[] | undefined;
}

/** Starts copying in place of serving: for API servers without the aggregation layer. Resolves when probes are answered. */
export async function startCopying(options: CopyingOptions): Promise<RunningResults> {
  const { transport, clock, random, log, port, host, watched } = options;
  const copies = new Copies({ transport, workers: workersFor(options), clock, random, log, namespaces: watched });
  const unsynced = (): void => {
    if (!copies.synced) throw new Error('tasks were not listed yet');
  };
  const probes = { health: new Map(), ready: new Map([['tasks', unsynced]]), log };
  const endpoints = await serveEndpoints({ port, ...(host === undefined ? {} : { host }), ...probes });
  const stopping = new AbortController();
  const running = copies.run(stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all([running, endpoints.close()]);
  };
  return { port: endpoints.port, stop };
}

/** Runs a refresh, and returns the time until it is to be done again, ms. */
async function tried(refresh: () => Promise<void>, signal: AbortSignal, log: Log): Promise<number> {
  try {
    await refresh();
    return everyMs;
  } catch (error) {
    signal.throwIfAborted();
    log.warn('certificate, APIService or front proxy could not be looked after', { error: asError(error).message });
    return againMs;
  }
}
