import { controlBounds, type ControlStep } from '@agentfleet/protocol/inference';
import type { ComputeBrief } from '@agentfleet/protocol/pool';
import type { JudgedCheck } from '../attempt/checkRun.ts';
import type { CallObserved } from './notes.ts';

/** Facts known of the first proposal of a step. */
export interface StepSituation {
  /** Mean surprise of its tokens, nats; null: it was not measured. */
  readonly entropyNats: number | null;
  /** The scores of gate 2 would refuse it. */
  readonly refused: boolean;
  /** Of the planner, 0…1; null: it did not answer. */
  readonly risk: number | null;
}

/** Reason why a step is worth more than one proposal. */
export type MoreReason = 'Entropy' | 'Refused';

/** Proposals of a step that is unsure, and of one that the planner calls risky too. */
const unsureProposals = 2;
const riskyProposals = 4;

/** Reports whether the planner calls a step risky. */
export function isRisky({ risk }: Pick<StepSituation, 'risk'>, { riskThreshold }: ComputeBrief): boolean {
  return (risk ?? 0) > riskThreshold;
}

/**
 * Number of proposals of a step, and why. Pure.
 *
 * Only the proposal itself asks for others: entropy above `entropyFastNats`, or scores that would refuse it. Then they are
 * `min(kMax, 4)` where the planner calls the step risky, else `min(kMax, 2)`. Risk alone asks for none: it describes the history,
 * in which a long task is risky at most of its steps, and each proposal costs a whole answer and often its prompt again.
 */
export function howMany(situation: StepSituation, compute: ComputeBrief): { readonly n: number; readonly why: MoreReason | null } {
  const unsure = (situation.entropyNats ?? 0) > compute.entropyFastNats;
  const why = unsure ? 'Entropy' : situation.refused ? 'Refused' : null;
  if (why === null) return { n: 1, why };
  return { n: Math.min(compute.kMax, isRisky(situation, compute) ? riskyProposals : unsureProposals), why };
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
