import type { ComputeBrief } from '@agentfleet/protocol/pool';

/** What is known before a step of the model is asked for; null: nobody measured it. */
export interface StepSituation {
  /** Mean surprise of the last reply's tokens, nats. */
  readonly entropyNats: number | null;
  /** Share of the last proposals that did something else than the chosen one, 0…1; null for a single one. */
  readonly disagreement: number | null;
  /** Of the planner, 0…1. */
  readonly risk: number | null;
}

/** Proposals that disagree more than this ask for more. */
const disagreementThreshold = 0.5;
/** Proposals of a step that is unsure but not risky. */
const unsureProposals = 2;
/** Most proposals of a chat model: each costs a whole answer, and its prompt again where the provider ignores `n`. */
const mostProposals = 4;

/**
 * Number of proposals for the next step of a conversation. Pure.
 *
 * 1. risk above `riskThreshold`: `min(kMax, 4)`.
 * 2. entropy above `entropyFastNats`, or disagreement above a half: `min(kMax, 2)`.
 * 3. else 1: `kBase` is for the search, whose candidates are cheap.
 */
export function howMany({ entropyNats, disagreement, risk }: StepSituation, compute: ComputeBrief): number {
  if ((risk ?? 0) > compute.riskThreshold) return Math.min(compute.kMax, mostProposals);
  const unsure = (entropyNats ?? 0) > compute.entropyFastNats || (disagreement ?? 0) > disagreementThreshold;
  return unsure ? Math.min(compute.kMax, unsureProposals) : 1;
}
