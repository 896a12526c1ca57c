import { asError, deadline, type Clock, type Log } from '@agentfleet/kube';
import { expertPort } from '@agentfleet/protocol/pool';
import type { Pod } from '../runtime/objects.ts';
import { boundedText } from './boundedText.ts';
import { calibrationOf, type ToldCalibration } from './calibration.ts';

/** The part of `GET /v1/info` that statuses tell. */
export interface ServerInfo {
  /** `sha256:` of code and weights. */
  readonly digest: string;
  /** `sha256:` of the artifact alone, as a spec may demand it; null for an engine without one. */
  readonly artifact: string | null;
  /** Why what it says is not acted upon; null: it is. */
  readonly shadow: string | null;
  /** Tokens whose keys and values an engine on a GPU holds at once; absent: it does not tell. */
  readonly kvTokens?: number;
  /** How its probabilities were calibrated; absent: it tells nothing. */
  readonly calibration?: ToldCalibration;
}

/** Asks a server of a namespace for its `/v1/info`: the parsed body. Rejects when it does not answer with one. */
export type AskInfo = (origin: string, signal: AbortSignal, namespace: string) => Promise<unknown>;

/** Gives the `Authorization` header for servers of a namespace: a token that is worth nothing elsewhere. Rejects without one. */
export type BearerFor = (namespace: string) => Promise<string>;

const timeLimitMs = 2_000;
const longestAnswer = 65_536;
const mostKnown = 4_096;

/** After which a pod that did not tell is asked again, ms. */
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

/** What is told of an answer. @throws Error when it has no digest */
export function infoOf(answer: unknown): ServerInfo {
  const { modelDigest, shadow, about, calibration: told, memory } = objectOf(answer);
  if (!isDigest(modelDigest)) throw new Error('modelDigest is not a digest');
  const { artifactDigest } = objectOf(about);
  const calibration = calibrationOf(told);
  const { kvTokens } = objectOf(memory);
  return {
    digest: modelDigest,
    artifact: isDigest(artifactDigest) ? artifactDigest : null,
    shadow: typeof shadow === 'string' && shadow !== '' ? shadow : null,
    ...(typeof kvTokens === 'number' && Number.isSafeInteger(kvTokens) && kvTokens > 0 && { kvTokens }),
    ...(calibration !== undefined && { calibration }),
  };
}

/** Where a pod answers; undefined while it has no address. */
export function originOf({ status }: Pod, port: number = expertPort): string | undefined {
  const ip = status?.podIP;
  if (ip === undefined || ip === '') return undefined;
  return `http://${ip.includes(':') ? `[${ip}]` : ip}:${port}`;
}

interface Known {
  readonly info: ServerInfo | undefined;
  readonly at: number;
}

/**
 * What servers tell about themselves. A pod is asked once: its code and weights are those of its image and its template,
 * so another answer comes with another pod. One that does not tell is asked again after a while.
 */
export class InfoReader {
  readonly #ask: AskInfo;
  readonly #clock: Clock;
  readonly #log: Log;
  /** By uid of the pod, the longest unused first. */
  readonly #known = new Map<string, Known>();

  constructor(options: { readonly ask: AskInfo; readonly clock: Clock; readonly log: Log }) {
    this.#ask = options.ask;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Answers by the names of pods, which are of one namespace. Takes two seconds at most and never rejects: without an answer statuses only say less. */
  async read(pods: readonly Pod[], signal: AbortSignal): Promise<ReadonlyMap<string, ServerInfo>> {
    const answers = await Promise.all(pods.map(async (pod) => [pod.metadata.name, await this.#one(pod, signal)] as const));
    return new Map(answers.filter((answer): answer is readonly [string, ServerInfo] => answer[1] !== undefined));
  }

  async #one(pod: Pod, signal: AbortSignal): Promise<ServerInfo | undefined> {
    const origin = originOf(pod);
    if (origin === undefined || pod.metadata.uid === undefined) return undefined;
    const { uid } = pod.metadata;
    const known = this.#known.get(uid);
    if (known !== undefined && (known.info !== undefined || this.#clock.monotonic() - known.at < infoRetryMs)) {
      this.#keep(uid, known);
      return known.info;
    }
    const limit = deadline(this.#clock, timeLimitMs, signal);
    let info: ServerInfo | undefined;
    try {
      info = infoOf(await this.#ask(origin, limit.signal, pod.metadata.namespace ?? ''));
    } catch (error) {
      this.#log.warn('a server did not tell what it is', { pod: pod.metadata.name, origin, error: asError(error).message });
    } finally {
      limit.dispose();
    }
    this.#keep(uid, { info, at: this.#clock.monotonic() });
    return info;
  }

  #keep(uid: string, known: Known): void {
    this.#known.delete(uid);
    this.#known.set(uid, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostKnown && oldest !== undefined) this.#known.delete(oldest);
  }
}
