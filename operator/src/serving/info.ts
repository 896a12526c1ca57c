import { energyHeads, maxKnots, type CalibrationKnot, type HeadCalibration, type ModelCalibration } from '@agentfleet/protocol/inference';
import { asError, deadline, type Clock, type Log } from '@agentfleet/kube';
import { expertPort } from '@agentfleet/protocol/pool';
import { TtlCache } from '../runtime/index.ts';
import type { Pod } from '../runtime/resources.ts';
import { boundedText } from './boundedText.ts';

/** A calibration as a server reports it, or what is wrong with it. */
type ReportedCalibration = ModelCalibration | { readonly fault: string };

const isShare = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 1;
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31;
/** Energies that a decimal of the API can hold. */
const isEnergy = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) < 1e9;

class Fault extends Error {}

function ensure(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Fault(what);
}

function knotsOf(name: string, value: unknown): readonly CalibrationKnot[] {
  ensure(Array.isArray(value) && value.length > 0 && value.length <= maxKnots, `${name} does not have 1 to ${maxKnots} knots`);
  const knots = value.map((knot): CalibrationKnot => {
    const { energy, probability } = objectOf(knot);
    ensure(isEnergy(energy) && isShare(probability), `a knot of ${name} is no energy with a probability`);
    return { energy, probability };
  });
  const falls = knots.every(({ energy, probability }, at) => {
    const last = knots[at - 1];
    return last === undefined || (energy > last.energy && probability <= last.probability);
  });
  ensure(falls, `the probabilities of ${name} do not fall with the energy`);
  return knots;
}

function headOf(value: unknown): HeadCalibration {
  const { name, samples, auc, ece, brier, vetoBelowProbability, warnBelowProbability, knots } = objectOf(value);
  const known = energyHeads.find((head) => head === name);
  ensure(known !== undefined, 'a head is none of Code, Shell and Editor');
  ensure(isCount(samples), `samples of ${known} is no count`);
  ensure(isShare(auc) && isShare(ece), `auc and ece of ${known} are not numbers from 0 to 1`);
  ensure(brier === undefined || isShare(brier), `brier of ${known} is no number from 0 to 1`);
  ensure(
    isShare(vetoBelowProbability) && isShare(warnBelowProbability) && vetoBelowProbability <= warnBelowProbability,
    `the thresholds of ${known} are not two probabilities, the veto not above the warning`,
  );
  const figures = { auc, ece, ...(brier === undefined ? {} : { brier }) };
  return { name: known, samples, ...figures, vetoBelowProbability, warnBelowProbability, knots: knotsOf(known, knots) };
}

/** Returns the calibration that a server reports; undefined: none. The program in the pod is not ours to trust, so all is checked. */
export function calibrationOf(value: unknown): ReportedCalibration | undefined {
  if (value === undefined || value === null) return undefined;
  const { digest, featureSet, fittedAt, heads } = objectOf(value);
  try {
    ensure(typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest), 'its digest is none');
    ensure(typeof featureSet === 'string' && featureSet.length <= 64, 'featureSet is no name');
    ensure(
      typeof fittedAt === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]{8,12}Z$/.test(fittedAt),
      'fittedAt is no time such as 2026-01-31T12:00:00Z',
    );
    ensure(!Number.isNaN(Date.parse(fittedAt)), 'fittedAt is no time');
    ensure(Array.isArray(heads) && heads.length > 0 && heads.length <= energyHeads.length, 'it has no heads');
    const reported = heads.map(headOf);
    ensure(new Set(reported.map(({ name }) => name)).size === reported.length, 'two heads have one name');
    return { digest, featureSet, fittedAt, heads: reported };
  } catch (error) {
    if (error instanceof Fault) return { fault: error.message };
    throw error;
  }
}

/** The part of `GET /v1/info` that statuses show. */
export interface ServerInfo {
  /** `sha256:` of code and weights. */
  readonly digest: string;
  /** `sha256:` of the artifact alone, as a spec may demand it; null for an engine without one. */
  readonly artifact: string | null;
  /** Reason that its report is not acted upon; null: it is. */
  readonly shadow: string | null;
  /** Tokens whose keys and values an engine on a GPU holds at once; absent: it does not report. */
  readonly kvTokens?: number;
  /** Calibration of its probabilities; absent: it reports none. */
  readonly calibration?: ReportedCalibration;
}

/** Asks a server of a namespace for its `/v1/info`: the parsed body. Rejects when it does not answer with one. */
export type AskInfo = (origin: string, signal: AbortSignal, namespace: string) => Promise<unknown>;

/** Gives the `Authorization` header for servers of a namespace: a token that is worth nothing elsewhere. Rejects without one. */
export type BearerFor = (namespace: string) => Promise<string>;

const timeLimitMs = 2_000;
const longestAnswer = 65_536;

/** After which a pod that did not report is asked again, ms. */
export const infoRetryMs = 10_000;

/** Asks by HTTP. */
export function askByHttp(bearerFor: BearerFor): AskInfo {
  return async (origin, signal, namespace) => {
    const authorization = await bearerFor(namespace);
    const question = { url: `${origin}/v1/info`, what: 'GET /v1/info', most: longestAnswer, authorization };
    return JSON.parse(await boundedText(question, signal)) as unknown;
  };
}

type Answer = Readonly<Record<string, unknown>>;

const objectOf = (value: unknown): Answer => (typeof value === 'object' && value !== null ? (value as Answer) : {});

const isDigest = (value: unknown): value is string => typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value);

/** Reads the info of a server from its answer. @throws Error when it has no digest */
export function infoOf(answer: unknown): ServerInfo {
  const { modelDigest, shadow, about, calibration: reported, memory } = objectOf(answer);
  if (!isDigest(modelDigest)) throw new Error('modelDigest is not a digest');
  const { artifactDigest } = objectOf(about);
  const calibration = calibrationOf(reported);
  const { kvTokens } = objectOf(memory);
  return {
    digest: modelDigest,
    artifact: isDigest(artifactDigest) ? artifactDigest : null,
    shadow: typeof shadow === 'string' && shadow !== '' ? shadow : null,
    ...(typeof kvTokens === 'number' && Number.isSafeInteger(kvTokens) && kvTokens > 0 && { kvTokens }),
    ...(calibration !== undefined && { calibration }),
  };
}

/** Returns the origin at which a pod answers; undefined while it has no address. */
export function originOf({ status }: Pod, port: number = expertPort): string | undefined {
  const ip = status?.podIP;
  if (ip === undefined || ip === '') return undefined;
  return `http://${ip.includes(':') ? `[${ip}]` : ip}:${port}`;
}

/** Dependencies of a reader of servers. */
export interface ReaderOptions<Ask> {
  readonly ask: Ask;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Reports of servers about themselves. A pod is asked once: its code and weights are those of its image and its template, so
 * another answer comes with another pod. One that does not report is asked again after a while.
 */
export class InfoReader {
  readonly #options: ReaderOptions<AskInfo>;
  /** By uid of the pod. */
  readonly #known: TtlCache<ServerInfo | undefined>;

  constructor(options: ReaderOptions<AskInfo>) {
    this.#options = options;
    this.#known = new TtlCache(options.clock, (info) => (info === undefined ? infoRetryMs : Infinity));
  }

  /** Answers by the names of pods, which are of one namespace. Takes two seconds at most and never rejects: without an answer statuses only say less. */
  async read(pods: readonly Pod[], signal: AbortSignal): Promise<ReadonlyMap<string, ServerInfo>> {
    const answers = await Promise.all(pods.map(async (pod) => [pod.metadata.name, await this.#one(pod, signal)] as const));
    return new Map(answers.filter((answer): answer is readonly [string, ServerInfo] => answer[1] !== undefined));
  }

  async #one(pod: Pod, signal: AbortSignal): Promise<ServerInfo | undefined> {
    const origin = originOf(pod);
    if (origin === undefined || pod.metadata.uid === undefined) return undefined;
    return this.#known.of(pod.metadata.uid, async () => {
      const { ask, clock, log } = this.#options;
      using limit = deadline(clock, timeLimitMs, signal);
      try {
        return infoOf(await ask(origin, limit.signal, pod.metadata.namespace ?? ''));
      } catch (error) {
        log.warn('a server did not tell what it is', { pod: pod.metadata.name, origin, error: asError(error).message });
        return undefined;
      }
    });
  }
}
