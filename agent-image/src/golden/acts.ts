import { asError, Backoff, deadline, sleep, type Clock, type Random } from '@agentfleet/kube';
import type { GoldenHead } from '@agentfleet/protocol/golden';
import {
  actFeatures,
  energyHeads,
  featureSet,
  routes,
  type EnergyScore,
  type ScoreRequest,
  type ScoreResponse,
} from '@agentfleet/protocol/inference';
import type { VerifierEndpoint } from '@agentfleet/protocol/pool';
import type { Bearer } from '@agentfleet/protocol/tokens';
import { auc, brier, ece } from '@agentfleet/protocol/stats';
import { answerReader, post } from '../experts/index.ts';
import { refusalOf } from '../experts/refusal.ts';
import { abstention } from '../decision/opinion.ts';
import type { ActCase } from './cases.ts';

export interface AskOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** The token that servers take; absent: none. */
  readonly bearer?: Bearer | undefined;
}

/** Result of one case. */
export interface Verdict {
  readonly id: string;
  readonly passed: boolean;
  readonly why: string;
}

/** Results of all acts. */
interface ActsFound {
  readonly verdicts: readonly Verdict[];
  readonly heads: readonly GoldenHead[];
}

/** Longest time of retries of requests to a silent verifier, and longest time for its answer to one batch, ms. */
const maxWaitMs = 60_000;
const answerMs = 30_000;
const retries = { baseMs: 250, factor: 2, capMs: 4000, jitter: 0.5, resetMs: 60_000 };

/** Bins of equal count in which probabilities are compared with outcomes. */
const bins = 15;

interface Scored {
  readonly act: ActCase;
  readonly score: EnergyScore;
  /** The probability that workers would use; null: none. */
  readonly pSuccess: number | null;
}

/** Scores acts by a verifier in batches: verdicts by its veto, and the quality of its heads. Rejects when it cannot be reached. */
export async function judgeActs(verifier: VerifierEndpoint, acts: readonly ActCase[], options: AskOptions): Promise<ActsFound> {
  const ask = asker(verifier, options);
  const scored: Scored[] = [];
  for (let at = 0; at < acts.length; at += verifier.batchMax) {
    const batch = acts.slice(at, at + verifier.batchMax);
    const answer = await ask({ requestId: `golden-${at}`, featureSet, items: batch.map(itemOf) });
    const silent = abstention(verifier.calibration, answer.calibration ?? null, options.clock.now());
    for (const [index, act] of batch.entries()) {
      const score = answer.scores[index];
      if (score !== undefined) scored.push({ act, score, pSuccess: silent === null ? score.pSuccess : null });
    }
  }
  return { verdicts: scored.map((one) => verdictOf(verifier, one)), heads: energyHeads.flatMap((head) => figuresOf(head, scored)) };
}

function itemOf({ id, act: { head, text, operator = '', features } }: ActCase): ScoreRequest['items'][number] {
  return { id, head, text, operator, features: { ...actFeatures({ subject: text }), ...features } };
}

/** Without a usable probability nothing is vetoed. */
function verdictOf(verifier: VerifierEndpoint, { act, pSuccess }: Scored): Verdict {
  const own = verifier.heads?.find(({ head }) => head === act.act.head) ?? verifier;
  const vetoed = pSuccess !== null && pSuccess < own.vetoBelowProbability;
  const said = pSuccess === null ? 'no probability counts' : `pSuccess ${pSuccess.toFixed(4)}, veto below ${own.vetoBelowProbability}`;
  return { id: act.id, passed: vetoed !== act.good, why: `${act.good ? 'good' : 'bad'}, and ${vetoed ? '' : 'not '}vetoed: ${said}` };
}

/** Only for a head that scored both good and bad acts, and that gives probabilities. */
function figuresOf(head: GoldenHead['name'], all: readonly Scored[]): readonly GoldenHead[] {
  const own = all.filter(({ act }) => act.act.head === head);
  const said = own.flatMap(({ act, score }) => (score.pSuccess === null ? [] : [{ score: score.pSuccess, right: act.good }]));
  const area = auc(own.map(({ act, score }) => ({ score: -score.energy, right: act.good })));
  if (said.length < own.length || Number.isNaN(area)) return [];
  return [{ name: head, auc: rounded(area), ece: rounded(ece(said, bins)), brier: rounded(brier(said)), samples: own.length }];
}

const rounded = (value: number): number => Math.round(value * 1e6) / 1e6;

function asker(
  verifier: VerifierEndpoint,
  { clock, random, signal, bearer }: AskOptions,
): (request: ScoreRequest) => Promise<ScoreResponse> {
  const read = answerReader();
  const once = async (request: ScoreRequest): Promise<ScoreResponse | { readonly failure: Error; readonly retry: boolean }> => {
    const limit = deadline(clock, answerMs, signal);
    try {
      const { name, url } = verifier;
      const { status, text } = await post({ name, url, route: routes.Score, body: request, bearer }, limit.signal);
      return status === 200 ? read('Score', text, request) : refusalOf(name, status, text);
    } catch (error) {
      signal.throwIfAborted();
      const failure = new Error(`verifier ${verifier.name} at ${verifier.url}: ${asError(error).message}`, { cause: error });
      return { failure, retry: true };
    } finally {
      limit.dispose();
    }
  };
  return async (request) => {
    const backoff = new Backoff(retries, clock, random);
    const until = clock.monotonic() + maxWaitMs;
    for (;;) {
      const answer = await once(request);
      if (!('failure' in answer)) return answer;
      const wait = backoff.next();
      if (!answer.retry || clock.monotonic() + wait > until) throw answer.failure;
      await sleep(clock, wait, signal);
    }
  };
}
