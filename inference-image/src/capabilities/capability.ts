import type { TObject, TSchema } from 'typebox';
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
  readonly response: TObject;
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
  readonly queue: Pick<BatchQueue<never, never>, 'waiting' | 'retryAfterSeconds' | 'close'>;
  /** Time of the last answer to a request, monotonic milliseconds; -Infinity: none was. */
  answeredAt(): number;
  /** @throws InferenceError */
  answer(body: unknown, signal: AbortSignal): Promise<object>;
  /** Answers the example through queue and checks, unless a request was answered just now. @throws Error with the fault */
  prove(): Promise<void>;
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
      return ability === undefined ? null : serviceOf(spec, ability, context);
    },
  };
}

/** An answer to a request proves as much as one to the example, for so long, milliseconds. */
const provesMs = 60_000;

function serviceOf<C extends Capability>(
  spec: CapabilitySpec<C>,
  ability: Ability<Request<C>, Result<C>>,
  context: CapabilityContext,
): Service {
  const { info, metrics, now } = context;
  const { name, example } = spec;
  const validRequest = compileRequest(spec.request);
  const resultFault = compileAnswer(spec.response);
  const queue = queueOf(spec, ability, context);
  let answeredAt = -Infinity;
  const ask = async (request: Request<C>, signal: AbortSignal): Promise<Result<C>> => {
    const result = await queue.submit(request, signal);
    const fault = resultFault(result) ?? spec.checkResult?.(request, result) ?? null;
    if (fault === null) return result;
    throw new InferenceError('AF_INTERNAL', 'the engine gave an answer that is not fit to be sent', { cause: new Error(fault) });
  };
  return {
    queue,
    answeredAt: () => answeredAt,
    answer: async (body, signal) => {
      const request = validRequest(body) as Request<C>;
      spec.checkRequest?.(request, info);
      const result = await ask(request, signal);
      answeredAt = now();
      spec.onAnswer?.(result, metrics);
      return { requestId: request.requestId, modelDigest: info.modelDigest, ...spec.envelope?.(info), ...result };
    },
    prove: async () => {
      if (example === undefined || now() - answeredAt < provesMs) return;
      const fault = spec.plausible?.(await ask(example, new AbortController().signal)) ?? null;
      if (fault !== null) throw new Error(`${name}: ${fault}`);
    },
  };
}

function queueOf<C extends Capability>(
  { name, lingerMs, items }: CapabilitySpec<C>,
  answer: Ability<Request<C>, Result<C>>,
  { queueLimit: limit, batchLimit, metrics, now, pause }: CapabilityContext,
): BatchQueue<Request<C>, Result<C>> {
  return new BatchQueue({
    answer,
    limit,
    batchLimit,
    now,
    ...(lingerMs !== undefined && { linger: (signal) => pause(lingerMs, signal) }),
    onBatch: (requests) => {
      metrics.batch.observe({ capability: name }, requests.length);
      metrics.items.observe(
        { capability: name },
        requests.reduce((sum, request) => sum + items(request), 0),
      );
    },
  });
}
