import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { gateOf } from '@agentfleet/protocol/tokens';
import type { FastifyInstance } from 'fastify';
import { listen } from '@agentfleet/protocol/environment';
import { errorFields, type Log } from '@agentfleet/protocol/log';
import { openTracing } from '@agentfleet/protocol/tracing';
import { createGatewayApp } from './app.ts';
import type { GatewayConfig } from './config.ts';
import { GatewayError } from './providers/gatewayError.ts';
import { Gateway } from './gateway.ts';
import { ModelsFile } from './models.ts';
import { createProviders } from './providers/index.ts';
import { Recorder } from './record.ts';
import { retryPolicy, type RetryPolicy } from './route.ts';

export interface RunningGateway {
  readonly address: string;
  /** Takes no more requests, gives those under way their time, closes. */
  stop(): Promise<void>;
}

interface GatewayStart {
  readonly config: GatewayConfig;
  readonly logger: Log;
  /** Times between requests to a provider that failed. */
  readonly policy?: RetryPolicy;
  /** Silence after which a stream is aborted, ms; default: a minute. */
  readonly silenceMs?: number;
  /** Milliseconds since 1970, for reloading files. */
  readonly clock?: () => number;
}

/** Starts the model gateway of one pool. It is ready when it could read its models. */
export async function startGateway({
  config,
  logger,
  policy = retryPolicy,
  silenceMs = 60_000,
  clock = Date.now,
}: GatewayStart): Promise<RunningGateway> {
  const now = (): number => performance.now();
  const wall = { now: clock };
  let logged = '';
  const models = new ModelsFile(config.modelsFile, wall, (error) => {
    const text = error instanceof Error ? error.message : String(error);
    if (text !== logged) logger.error('the models cannot be read', errorFields(error));
    logged = text;
  });
  const lost = (error: unknown): void => logger.error('an exchange could not be recorded', errorFields(error));
  const recorder = config.recordTo === null ? null : new Recorder(config.recordTo, lost);
  const gateway = new Gateway({ models, providers: createProviders(), policy, silenceMs, recorder, now, random: Math.random });
  const gate = gateOf(config.access, {
    clock: wall,
    onRefused: (reason) => gateway.metrics.refusals.inc({ reason }),
    onError: (error) => logger.error('the key file cannot be read', errorFields(error)),
  });
  const stopping = new AbortController();
  const ended = new AbortController();
  const tracing = await openTracing(config.tracing, config.process, clock);
  const app = createGatewayApp({ tracing, gateway, gate, logger, stopping: stopping.signal, ended: ended.signal, now });
  const address = await listen(app, config.listen);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await drain(app, ended, config.drainSeconds * 1000);
    await Promise.all([gateway.close(), tracing.close()]);
  };
  return { address, stop };
}

/** Closes when the requests under way are answered; those that take longer are refused with when to ask again. */
async function drain(app: FastifyInstance, ended: AbortController, maxWaitMs: number): Promise<void> {
  const closing = app.close();
  // A connection whose last answer has gone is kept by its caller, and would keep the gateway.
  const idle = setInterval(() => app.server.closeIdleConnections(), 50);
  const over = new AbortController();
  await Promise.race([closing, delay(maxWaitMs, undefined, { signal: over.signal }).catch(() => undefined)]);
  over.abort();
  ended.abort(new GatewayError('Stopping', 'the gateway is stopping: ask again, another replica answers'));
  // A caller that does not read keeps nobody.
  await Promise.race([closing, delay(1000, undefined, { ref: false })]);
  app.server.closeAllConnections();
  await closing;
  clearInterval(idle);
}
