import { capabilities, type Capability, type InferenceInfo } from '@agentfleet/protocol/inference';
import { capabilityModules, type Service } from './capabilities/index.ts';
import type { Config } from './config.ts';
import type { ServedEngine } from './engines/served.ts';
import type { Log } from '@agentfleet/protocol/log';
import { InferenceMetrics } from './metrics.ts';
import { Readiness } from './readiness.ts';

/** What the routes work with. */
export interface Server {
  readonly info: InferenceInfo;
  /** The part of info that is known when the engine has come up. */
  readonly memory: () => InferenceInfo['memory'];
  /** What this server can be asked for. */
  readonly services: ReadonlyMap<Capability, Service>;
  readonly readiness: Readiness;
  readonly metrics: InferenceMetrics;
  readonly logger: Log;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface ServerOptions {
  readonly config: Pick<Config, 'version' | 'roles' | 'queueLimit' | 'batchLimit'>;
  readonly engine: ServedEngine;
  readonly logger: Log;
  readonly now: () => number;
  /** Resolves after so many milliseconds, or at once when the signal fires. */
  readonly pause: (millis: number, signal: AbortSignal) => Promise<void>;
}

export function createServer({ config, engine, logger, now, pause }: ServerOptions): Server {
  const services = new Map<Capability, Service>();
  const prove = async (): Promise<void> => {
    await engine.prove?.();
    for (const service of services.values()) await service.prove();
  };
  const readiness = new Readiness({ prove }, now);
  const metrics: InferenceMetrics = new InferenceMetrics(
    () => [...services.values()].reduce((sum, { waiting }) => sum + waiting, 0),
    () => readiness.ready,
  );
  const info = describe(config, engine);
  const { queueLimit, batchLimit } = config;
  for (const module of capabilityModules) {
    const service = module.open(engine, { info, queueLimit, batchLimit, metrics, now, pause });
    if (service !== null) services.set(module.name, service);
  }
  const memory = (): InferenceInfo['memory'] => engine.memory?.();
  return { info, memory, services, readiness, metrics, logger, now };
}

function describe(config: ServerOptions['config'], engine: ServedEngine): InferenceInfo {
  const { name, modelDigest, learned, languages, shadow, about, calibration } = engine;
  return {
    version: config.version,
    engine: name,
    roles: config.roles.filter((role) => engine.roles.includes(role)),
    capabilities: capabilities.filter((capability) => engine.abilities[capability] !== undefined),
    modelDigest,
    learned,
    languages,
    shadow,
    about,
    ...(calibration !== undefined && { calibration }),
  };
}
