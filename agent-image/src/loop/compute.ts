import { controlBounds, type ControlStep } from '@agentfleet/protocol/inference';
import type { ComputeBrief } from '@agentfleet/protocol/pool';
import type { JudgedCheck } from '../attempt/baseline.ts';
import type { CallObserved } from './notes.ts';

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

/**
 * The acts of a conversation as steps of the planner, oldest first. What no call measures (tests repaired by a single act) is 0;
 * that all checks hold is known after `run_checks` only. Pure.
 *
 * @param acts calls that the gates judged
 * @param expert index of the model among the proposers; -1: it is none
 */
export function controlSteps(acts: readonly CallObserved[], expert: number, checks: readonly JudgedCheck[]): readonly ControlStep[] {
  const testsFailing = checks.reduce((sum, { judgement }) => sum + judgement.failing.length, 0);
  const testsTotal = checks.reduce((sum, { baseline: [first] }) => sum + (first?.results.tests.length ?? 0), 0);
  let depth = 0;
  return acts.slice(-controlBounds.maxSteps).flatMap(({ facts, refused, ok, tree, energy }): ControlStep[] => {
    if (facts === undefined) return [];
    if (tree !== undefined) depth += 1;
    const { tool, seconds, budgetUsed } = facts;
    return [
      {
        tool,
        result: refused !== undefined ? 'Denied' : tool === 'Shell' ? 'Command' : ok ? 'Equal' : 'Unusable',
        expert,
        proposalShare: 1,
        ...(energy !== undefined && { energy }),
        edits: tool === 'Editor' ? 1 : 0,
        testsFailing,
        testsTotal,
        testsFixed: 0,
        depth: Math.min(64, depth),
        seconds,
        budgetUsed,
      },
    ];
  });
}
