import { chmod, lstat, unlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { gateOf, openGate } from '@agentfleet/protocol/tokens';
import type { FastifyInstance } from 'fastify';
import type { Config } from './base/config.ts';
import { listen } from '@agentfleet/protocol/environment';
import { createEngine } from './engines/index.ts';
import { createApp } from './http/app.ts';
import { createServer } from './capabilities/server.ts';
import { errorFields, type Log } from '@agentfleet/protocol/log';

export interface RunningServer {
  readonly addresses: readonly string[];
  /** Refuses new requests, finishes waiting ones, closes. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly config: Config;
  readonly logger: Log;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Loads the engine and listens. Not ready before the engine has answered an example of each capability. */
export async function startServer({ config, logger, now }: StartOptions): Promise<RunningServer> {
  const engine = await createEngine(config, now, (error) => logger.warn('an action of the engine failed', errorFields(error)));
  const server = createServer({ config, engine, logger, now, pause });
  const gate = gateOf(config.access, {
    clock: { now: () => Date.now() },
    onRefused: (reason) => server.metrics.refusals.inc({ reason }),
    onError: (error) => logger.error('the key file cannot be read', errorFields(error)),
  });
  const apps = [createApp(server, gate)];
  const addresses = [await listen(apps[0] as FastifyInstance, config.listen)];
  if (config.socket !== null) {
    const local = createApp(server, openGate);
    apps.push(local);
    addresses.push(await listenOnSocket(local, config.socket));
  }
  const reason = await server.readiness.check();
  logger[reason === null ? 'info' : 'error'](reason ?? 'ready', { engine: engine.name, modelDigest: engine.modelDigest });
  const stop = async (): Promise<void> => {
    server.readiness.stop();
    const giveUp = AbortSignal.timeout(config.drainSeconds * 1000);
    await Promise.all([...server.services.values()].map((service) => service.queue.close(giveUp)));
    await Promise.all(apps.map((app) => app.close()));
    await engine.close();
  };
  return { addresses, stop };
}

/** Waits, or not any longer when the signal fires. */
async function pause(millis: number, signal: AbortSignal): Promise<void> {
  await delay(millis, undefined, { signal }).catch(() => undefined);
}

/** A socket of an earlier process is removed; anything else in its place is not. */
async function listenOnSocket(app: FastifyInstance, path: string): Promise<string> {
  const stale = await lstat(path).catch(() => null);
  if (stale?.isSocket() === true) await unlink(path);
  const address = await app.listen({ path });
  await chmod(path, 0o660);
  return address;
}
