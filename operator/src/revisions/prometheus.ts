import { asError, deadline } from '@agentfleet/kube';
import type { RolloutPolicySpec } from '@agentfleet/protocol/api';
import type { QueryAnswer } from '../rollout/index.ts';
import { TtlCache } from '../runtime/index.ts';
import { boundedText, type ReaderOptions } from '../serving/index.ts';

/** Asks for a URL; the text of the answer. Rejects when there is none. */
type AskText = (url: string, signal: AbortSignal) => Promise<string>;

const longestAnswer = 65_536;

/** After which an answer counts as missing. */
const answerSeconds = 5;

/** Time for which an answer counts as fresh, ms. */
const freshMs = 10_000;

/** Characters of a server's answer that a status quotes. */
const mostWords = 96;

/** Asks by HTTP. */
export const textByHttp: AskText = (url, signal) =>
  boundedText({ url, what: 'the query', most: longestAnswer, cure: 'write one that answers one number' }, signal);

/** The number in an answer of `/api/v1/query`. @throws Error when it is not exactly one finite number */
export function numberOf(text: string): number {
  const { status, error, data } = JSON.parse(text) as {
    readonly status?: string;
    readonly error?: string;
    readonly data?: { readonly resultType?: string; readonly result?: unknown };
  };
  if (status !== 'success') throw new Error(`the query was refused: ${error ?? 'without a reason'}`);
  const result = data?.result as readonly unknown[] | undefined;
  if (data?.resultType === 'vector' && result?.length !== 1)
    throw new Error(`${result?.length ?? 0} series answer; the query has to answer one`);
  const [series] = result ?? [];
  const pair = data?.resultType === 'vector' ? (series as { readonly value?: unknown }).value : result;
  const value = Number((pair as readonly unknown[] | undefined)?.[1] ?? Number.NaN);
  if (!Number.isFinite(value)) throw new Error('the answer is no number');
  return value;
}

/** Answers of the gates of type Query. What is not answered in time, or is not one number, is missing. */
export class QueryReader {
  readonly #options: ReaderOptions<AskText>;
  readonly #known: TtlCache<QueryAnswer>;

  constructor(options: ReaderOptions<AskText>) {
    this.#options = options;
    this.#known = new TtlCache(options.clock, () => freshMs);
  }

  /** By the names of the gates. Never rejects. */
  async read(
    { gates, prometheus }: RolloutPolicySpec,
    arms: { readonly stable: string; readonly canary: string },
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, QueryAnswer>> {
    const answers = new Map<string, QueryAnswer>();
    if (prometheus === undefined) return answers;
    for (const gate of gates ?? []) {
      if (gate.metric !== 'Query' || gate.query === undefined) continue;
      const query = gate.query.replaceAll('$stable', arms.stable).replaceAll('$canary', arms.canary);
      const url = `${prometheus.url.replace(/\/+$/, '')}/api/v1/query?query=${encodeURIComponent(query)}`;
      answers.set(gate.name, await this.#known.of(url, () => this.#one(url, signal)));
    }
    return answers;
  }

  async #one(url: string, signal: AbortSignal): Promise<QueryAnswer> {
    const { ask, clock, log } = this.#options;
    using limit = deadline(clock, answerSeconds * 1000, signal);
    try {
      return { value: numberOf(await ask(url, limit.signal)) };
    } catch (error) {
      const lacks = limit.expired() ? `none within ${answerSeconds} s` : asError(error).message;
      log.warn('a query of a rollout has no answer', { url, error: lacks });
      return { lacks: lacks.slice(0, mostWords) };
    }
  }
}
