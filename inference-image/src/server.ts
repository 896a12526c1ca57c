import type { InferenceInfo } from '@agentfleet/protocol/inference';
import type { Config } from './config.ts';
import type { Engine } from './engines/engine.ts';
import type { Logger } from './logger.ts';
import { InferenceMetrics } from './metrics.ts';
import { BatchQueue } from './queue/index.ts';
import { Readiness } from './readiness.ts';

/** What the routes work with. */
export interface Server {
  readonly info: InferenceInfo;
  readonly queue: BatchQueue;
  readonly readiness: Readiness;
  readonly metrics: InferenceMetrics;
  readonly logger: Logger;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface ServerOptions {
  readonly config: Pick<Config, 'version' | 'roles' | 'queueLimit' | 'batchLimit'>;
  readonly engine: Engine;
  readonly logger: Logger;
  readonly now: () => number;
}

export function createServer({ config, engine, logger, now }: ServerOptions): Server {
  const readiness = new Readiness(engine, now);
  const metrics: InferenceMetrics = new InferenceMetrics(
    () => queue.waiting,
    () => readiness.ready,
  );
  const queue = new BatchQueue({
    engine,
    limit: config.queueLimit,
    batchLimit: config.batchLimit,
    now,
    onBatch: (requests) => metrics.batch.observe(requests),
  });
  const { name, modelDigest, learned, languages } = engine;
  const roles = config.roles.filter((role) => engine.roles.includes(role));
  const info = {
    version: config.version,
    engine: name,
    roles,
    capabilities: ['Generate'] as const,
    modelDigest,
    learned,
    languages,
    shadow: null,
    about: {},
  };
  return { info, queue, readiness, metrics, logger, now };
}
