import type { EnergyHead, ScoreItem, ScoreResponse } from '@agentfleet/protocol/inference';
import type { VerifierEndpoint } from '@agentfleet/protocol/pool';
import type { Comparison, Judged } from '../shadow/index.ts';
import { abstention } from './calibration.ts';

/** Id of an act that gate 2 asks about, apart from those of candidates. */
export const actId = 'act';

/** What acts are measured by. */
export type Thresholds = Pick<VerifierEndpoint, 'vetoBelowProbability' | 'warnBelowProbability'>;

/** Those of the head, else those of the model. Pure. */
export function thresholdsOf(verifier: VerifierEndpoint | null, head: EnergyHead): Thresholds {
  const { vetoBelowProbability = 0, warnBelowProbability = 0 } = verifier?.heads?.find((one) => one.head === head) ?? verifier ?? {};
  return { vetoBelowProbability, warnBelowProbability };
}

/** A verifier, and an answer of its. */
export interface Scored {
  readonly verifier: VerifierEndpoint;
  readonly answer: ScoreResponse;
}

/** What each verifier alone makes of the acts of a request, by its own thresholds and calibration. Pure. */
export function compareActs(items: readonly ScoreItem[], stable: Scored, shadow: Scored, now: number | null): Comparison {
  const acts = items.flatMap(({ id, head }, at) =>
    id === actId ? [{ stable: verdictOf(stable, at, head, now), shadow: verdictOf(shadow, at, head, now) }] : [],
  );
  return { acts };
}

function verdictOf({ verifier, answer }: Scored, at: number, head: EnergyHead, now: number | null): Judged {
  const pSuccess = answer.scores[at]?.pSuccess ?? null;
  const why = abstention(verifier.calibration, answer.calibration ?? null, now);
  if (why !== null || pSuccess === null) return { verdict: 'Abstain', pSuccess: null };
  const { vetoBelowProbability, warnBelowProbability } = thresholdsOf(verifier, head);
  return { verdict: pSuccess < vetoBelowProbability ? 'Veto' : pSuccess < warnBelowProbability ? 'Warn' : 'Pass', pSuccess };
}
