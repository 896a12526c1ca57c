import type { Clock } from '@agentfleet/kube';
import type { GoldenHead } from '@agentfleet/protocol/golden';
import { actFeatures, energyHeads, featureSet, type EnergyScore, type ScoreRequest } from '@agentfleet/protocol/inference';
import type { VerifierEndpoint } from '@agentfleet/protocol/pool';
import { auc, brier, ece } from '@agentfleet/protocol/stats';
import type { ExpertsClient } from '../experts/index.ts';
import { abstention, thresholdsOf } from '../decision/opinion.ts';
import type { ActCase } from './cases.ts';

export interface AskOptions {
  readonly client: ExpertsClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Result of one case. */
export interface Verdict {
  readonly id: string;
  readonly passed: boolean;
  readonly why: string;
}

/** Longest time for the answer of a verifier to one batch, ms. */
const timeoutMillis = 30_000;

/** Bins of equal count in which probabilities are compared with outcomes. */
const bins = 15;

interface Scored {
  readonly act: ActCase;
  readonly score: EnergyScore;
  /** The probability that workers would use; null: none. */
  readonly pSuccess: number | null;
}

/** Scores acts by a verifier in batches: verdicts by its veto, and the quality of its heads. Rejects when it cannot be reached. */
export async function judgeActs(verifier: VerifierEndpoint, acts: readonly ActCase[], asking: AskOptions) {
  const { client, clock, signal } = asking;
  const scored: Scored[] = [];
  for (let at = 0; at < acts.length; at += verifier.batchMax) {
    const batch = acts.slice(at, at + verifier.batchMax);
    const request: ScoreRequest = { requestId: `golden-${at}`, featureSet, items: batch.map(itemOf) };
    const answer = await client.ask({ to: verifier, capability: 'Score', request, timeoutMillis }, signal);
    const silent = abstention(verifier.calibration, answer.calibration ?? null, clock.now());
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
  const { vetoBelowProbability } = thresholdsOf(verifier, act.act.head);
  const vetoed = pSuccess !== null && pSuccess < vetoBelowProbability;
  const said = pSuccess === null ? 'no probability counts' : `pSuccess ${pSuccess.toFixed(4)}, veto below ${vetoBelowProbability}`;
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
