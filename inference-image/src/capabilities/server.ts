/** Assembles the capabilities of one engine, and reports whether they are ready. No HTTP. */
import { capabilities, type Capability, type InferenceInfo } from '@agentfleet/protocol/inference';
import { capabilityModules, type Service } from './index.ts';
import type { Config } from '../base/config.ts';
import type { ServedEngine } from '../base/served.ts';
import { InferenceError } from '../base/failure.ts';
import { InferenceMetrics } from '../base/metrics.ts';
import type { Log } from '@agentfleet/protocol/log';

/** Time for which a proof is trusted, milliseconds. */
const freshMs = 60_000;
/** And for so much longer, from the last answer on, while the next one waits behind requests; an engine that hangs is not ready after that. */
const busyMs = 120_000;
/** Time that a probe waits for a new proof while the last one is trusted, milliseconds. */
const patienceMs = 1_000;

/** Gets a real answer for each capability. @throws Error when one fails */
interface Provable {
  prove(): Promise<void>;
  /** Returns the time of the last answer to a request, monotonic milliseconds; -Infinity: none was. */
  answeredAt(): number;
}

type Pause = (millis: number, signal: AbortSignal) => Promise<void>;

/** Ready = the engine has really answered for each capability not long ago, and the server is not stopping. */
export class Readiness {
  readonly #engine: Provable;
  readonly #now: () => number;
  readonly #pause: Pause;
  #provedAt: number | null = null;
  #proving: Promise<string | null> | null = null;
  #stopping = false;

  /** @param now monotonic milliseconds */
  constructor(engine: Provable, now: () => number, pause: Pause) {
    this.#engine = engine;
    this.#now = now;
    this.#pause = pause;
  }

  get ready(): boolean {
    return !this.#stopping && this.#believed;
  }

  /** Returns the reason for which it is not ready, one sentence; null when it is. */
  async check(): Promise<string | null> {
    if (this.#stopping) return 'the server is stopping';
    const age = this.#provedAt === null ? Infinity : this.#now() - this.#provedAt;
    if (age < freshMs) return null;
    this.#proving ??= this.#prove().finally(() => {
      this.#proving = null;
    });
    if (!this.#believed) return this.#proving;
    const enough = new AbortController();
    const late = this.#pause(patienceMs, enough.signal).then(() => null);
    return Promise.race([this.#proving, late]).finally(() => enough.abort());
  }

  stop(): void {
    this.#stopping = true;
  }

  get #believed(): boolean {
    if (this.#provedAt === null) return false;
    return this.#now() - Math.max(this.#provedAt, this.#engine.answeredAt()) < freshMs + busyMs;
  }

  async #prove(): Promise<string | null> {
    try {
      await this.#engine.prove();
      this.#provedAt = this.#now();
      return null;
    } catch (error) {
      // A queue that is full answers others.
      if (error instanceof InferenceError && error.code === 'AF_QUEUE_FULL' && this.#believed) return null;
      this.#provedAt = null;
      return `the engine does not answer: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}

/** The server as the routes use it. */
export interface Server {
  readonly info: InferenceInfo;
  /** The part of info that is known after the engine has started. */
  readonly memory: () => InferenceInfo['memory'];
  /** Services of this server. */
  readonly services: ReadonlyMap<Capability, Service>;
  readonly readiness: Readiness;
  readonly metrics: InferenceMetrics;
  readonly logger: Log;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

interface ServerOptions {
  readonly config: Pick<Config, 'version' | 'roles' | 'queueLimit' | 'batchLimit'>;
  readonly engine: ServedEngine;
  readonly logger: Log;
  readonly now: () => number;
  /** Resolves after so many milliseconds, or at once when the signal fires. */
  readonly pause: Pause;
}

export function createServer({ config, engine, logger, now, pause }: ServerOptions): Server {
  const services = new Map<Capability, Service>();
  const prove = async (): Promise<void> => {
    await engine.prove?.();
    for (const service of services.values()) await service.prove();
  };
  const answeredAt = (): number => Math.max(...[...services.values()].map((service) => service.answeredAt()));
  const readiness = new Readiness({ prove, answeredAt }, now, pause);
  const metrics: InferenceMetrics = new InferenceMetrics(
    () => [...services.values()].reduce((sum, { queue }) => sum + queue.waiting, 0),
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
