import {
  generateBounds,
  generatingRoles,
  type GenerateRequest,
  type GeneratingRole,
  type GenerateResponse,
} from '@agentfleet/protocol/inference';
import type { Focus } from './localise.ts';
import { AttemptFailure } from './failure.ts';
import type { SearchNode } from './node.ts';
import type { Scope } from './scope.ts';

const maxK = 16;
/** Below this distance of the two best, in nats, the ranking says little and more candidates are asked for. */
const smallMargin = 0.25;

/** Refusals that mean: there is nothing more to try here. */
const ending: ReadonlySet<string> = new Set(['RecordEnded', 'LanguageUnsupported', 'RecordUnknown', 'RecordMismatch']);

/**
 * The next proposals for a node; null when nobody has any left. What was used up is told by the answer: then the next step
 * of a record is asked for, and pairs of edits.
 *
 * @throws AttemptFailure Infrastructure when no expert answers
 */
export async function propose(scope: Scope, node: SearchNode, focus: Focus): Promise<GenerateResponse | null> {
  for (;;) {
    scope.context.signal.throwIfAborted();
    const wasLast = node.maxEdits === 2;
    node.asked = node.step;
    const response = await generate(scope, node, focus);
    if (response === null) return null;
    if (response.exhausted) {
      node.step += 1;
      node.maxEdits = 2;
    }
    if (response.margin !== null && response.margin < smallMargin) node.k = Math.min(maxK, node.k * 2);
    if (response.candidates.length > 0) return response;
    // An answer without candidates that is not the end came from a search that ran out of its time.
    if (wasLast || !response.exhausted) return null;
  }
}

async function generate({ context }: Scope, node: SearchNode, focus: Focus): Promise<GenerateResponse | null> {
  const { experts, signal, task, assignment } = context;
  try {
    return await experts.generate(focus.expert, requestOf(), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AttemptFailure && ending.has(error.reason)) {
      context.log.info('an expert has no proposals', { expert: focus.expert.name, reason: error.reason });
      return null;
    }
    if (error instanceof AttemptFailure) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const message = `expert ${focus.expert.name} gave no proposals: ${why}; look at the pods of the pool`;
    throw new AttemptFailure('Infrastructure', 'ExpertUnavailable', message, { cause: error });
  }
  function requestOf(): GenerateRequest {
    return {
      requestId: `${(task.metadata.uid ?? task.metadata.name ?? 'task').slice(0, 64)}.${assignment.attempt}.${node.depth}.${node.tried.size}`,
      role: generatingRole(focus.expert.role),
      goal: task.spec.goal,
      step: node.step,
      grammar: 'Edit',
      files: [...focus.files],
      localisation: focus.localisation,
      k: node.k,
      maxEdits: node.maxEdits,
      exclude: [...node.tried].slice(-generateBounds.maxExcluded),
      seed: 0,
      budgetMillis: generateBounds.defaultBudgetMillis,
    };
  }
}

/** An expert that was chosen for proposals has such a role. */
function generatingRole(role: string): GeneratingRole {
  return generatingRoles.find((known) => known === role) ?? 'Generalist';
}
