import type { TSchema } from 'typebox';
import { routes, type Capability, type InferenceInfo } from '@agentfleet/protocol/inference';
import type { Ability, Exchanges, ServedEngine } from '../base/served.ts';
import { InferenceError } from '../base/failure.ts';
import type { InferenceMetrics } from '../base/metrics.ts';
import { BatchQueue } from '../queue/batchQueue.ts';
import { compileAnswer, compileRequest } from './schema.ts';

type Request<C extends Capability> = Exchanges[C]['request'];
type Result<C extends Capability> = Exchanges[C]['result'];

interface CapabilitySpec<C extends Capability> {
  readonly name: C;
  readonly request: TSchema;
  /** Schema of the engine's part of the answer. */
  readonly result: TSchema;
  /** Checks of a request beyond its schema. @throws InferenceError */
  readonly checkRequest?: (request: Request<C>, info: InferenceInfo) => void;
  /** Checks of an answer beyond its schema: a sentence, or null. */
  readonly checkResult?: (request: Request<C>, result: Result<C>) => string | null;
  /** Members of the answer besides requestId and modelDigest. */
  readonly envelope?: (info: InferenceInfo) => object;
  /** Joins requests of several callers for at most this long; absent: those of the same turn. */
  readonly lingerMs?: number;
  /** Counts metrics of the capability. */
  readonly onAnswer?: (result: Result<C>, metrics: InferenceMetrics) => void;
  /** Work items in one request, for the metric of batches. */
  readonly items: (request: Request<C>) => number;
  /** A real request that every engine with this capability answers; absent: each engine has its own. */
  readonly example?: Request<C>;
  /** Checks the answer to the example: a sentence with the fault, or null. */
  readonly plausible?: (result: Result<C>) => string | null;
}

interface CapabilityContext {
  readonly info: InferenceInfo;
  readonly queueLimit: number;
  readonly batchLimit: number;
  readonly metrics: InferenceMetrics;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Resolves after so many milliseconds, or at once when the signal fires. */
  readonly pause: (millis: number, signal: AbortSignal) => Promise<void>;
}

/** A capability that this server has. */
export interface Service {
  readonly name: Capability;
  readonly waiting: number;
  readonly retryAfterSeconds: number;
  /** Time of the last answer to a request, monotonic milliseconds; null: none was. */
  readonly answeredAt: number | null;
  /** @throws InferenceError */
  answer(body: unknown, signal: AbortSignal): Promise<object>;
  /** Answers the example through queue and checks, unless a request was answered just now. @throws Error with the fault */
  prove(): Promise<void>;
  close(now: AbortSignal): Promise<void>;
}

export interface CapabilityModule {
  readonly name: Capability;
  readonly route: string;
  /** Null when the engine lacks it. */
  open(engine: ServedEngine, context: CapabilityContext): Service | null;
}

/** A capability as the server mounts it. Schemas are compiled once per process that serves it. */
export function capability<C extends Capability>(spec: CapabilitySpec<C>): CapabilityModule {
  const { name } = spec;
  return {
    name,
    route: routes[name],
    open: (engine, context) => {
      const ability: Ability<Request<C>, Result<C>> | undefined = engine.abilities[name];
      return ability === undefined ? null : new CapabilityService(spec, ability, context);
    },
  };
}

/** An answer to a request proves as much as one to the example, for so long, milliseconds. */
const provesMs = 60_000;

class CapabilityService<C extends Capability> implements Service {
  #answeredAt: number | null = null;
  readonly #spec: CapabilitySpec<C>;
  readonly #context: CapabilityContext;
  readonly #queue: BatchQueue<Request<C>, Result<C>>;
  readonly #validRequest: (body: unknown) => unknown;
  readonly #resultFault: (result: unknown) => string | null;

  constructor(spec: CapabilitySpec<C>, ability: Ability<Request<C>, Result<C>>, context: CapabilityContext) {
    const { queueLimit, batchLimit, metrics, now, pause } = context;
    const { name, lingerMs } = spec;
    this.#spec = spec;
    this.#context = context;
    this.#validRequest = compileRequest(spec.request);
    this.#resultFault = compileAnswer(spec.result);
    this.#queue = new BatchQueue({
      answer: ability,
      limit: queueLimit,
      batchLimit,
      now,
      ...(lingerMs === undefined ? {} : { linger: (signal) => pause(lingerMs, signal) }),
      onBatch: (requests) => {
        metrics.batch.observe({ capability: name }, requests.length);
        metrics.items.observe(
          { capability: name },
          requests.reduce((sum, request) => sum + spec.items(request), 0),
        );
      },
    });
  }

  get name(): Capability {
    return this.#spec.name;
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  get retryAfterSeconds(): number {
    return this.#queue.retryAfterSeconds;
  }

  get answeredAt(): number | null {
    return this.#answeredAt;
  }

  async answer(body: unknown, signal: AbortSignal): Promise<object> {
    const { info } = this.#context;
    const request = this.#validRequest(body) as Request<C>;
    this.#spec.checkRequest?.(request, info);
    const result = await this.#ask(request, signal);
    this.#answeredAt = this.#context.now();
    this.#spec.onAnswer?.(result, this.#context.metrics);
    return { requestId: request.requestId, modelDigest: info.modelDigest, ...this.#spec.envelope?.(info), ...result };
  }

  async prove(): Promise<void> {
    const { example, plausible } = this.#spec;
    if (example === undefined || (this.#answeredAt !== null && this.#context.now() - this.#answeredAt < provesMs)) return;
    const fault = plausible?.(await this.#ask(example, new AbortController().signal)) ?? null;
    if (fault !== null) throw new Error(`${this.name}: ${fault}`);
  }

  close(now: AbortSignal): Promise<void> {
    return this.#queue.close(now);
  }

  async #ask(request: Request<C>, signal: AbortSignal): Promise<Result<C>> {
    const result = await this.#queue.submit(request, signal);
    const fault = this.#resultFault(result) ?? this.#spec.checkResult?.(request, result) ?? null;
    if (fault === null) return result;
    throw new InferenceError('AF_INTERNAL', 'the engine gave an answer that is not fit to be sent', { cause: new Error(fault) });
  }
}
