import {
  generateBounds,
  generatingRoles,
  type GenerateRequest,
  type GeneratingRole,
  type GenerateResponse,
} from '@agentfleet/protocol/inference';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import type { Focus } from './localise.ts';
import { AttemptFailure } from './failure.ts';
import type { SearchNode } from './node.ts';
import type { Scope } from './scope.ts';

/** Refusals that mean: there is nothing more to try here. */
const ending: ReadonlySet<string> = new Set(['RecordEnded', 'LanguageUnsupported', 'RecordUnknown', 'RecordMismatch']);

/** Who is asked, and for how much. */
export interface Asking {
  readonly expert: ExpertEndpoint;
  readonly k: number;
  /** Pairs of edits are wanted although single ones are not used up. */
  readonly pairs: boolean;
}

/**
 * The next proposals for a node; null when nobody has any left.
 *
 * @throws AttemptFailure Infrastructure when no expert answers
 */
export async function propose(scope: Scope, node: SearchNode, focus: Focus, asking: Asking): Promise<GenerateResponse | null> {
  for (;;) {
    scope.context.signal.throwIfAborted();
    const wasLast = node.maxEdits === 2;
    node.asked = node.stepOf(asking.expert.name);
    const response = await generate(scope, node, focus, asking);
    if (response === null || response.candidates.length > 0) return response;
    // An answer without candidates that is not the end came from a search that ran out of its time.
    if (wasLast || !response.exhausted) return null;
    advance(node, asking.expert.name);
  }
}

/** What was used up is reported by the answer: once all of it was tried, the next step of a record is asked for, and pairs of edits. */
export function settle(node: SearchNode, expert: string, { exhausted, candidates }: GenerateResponse): void {
  if (exhausted && candidates.every(({ id }) => node.tried.has(id))) advance(node, expert);
}

function advance(node: SearchNode, expert: string): void {
  node.reach(expert, node.stepOf(expert) + 1);
  node.maxEdits = 2;
}

async function generate({ context }: Scope, node: SearchNode, focus: Focus, asking: Asking): Promise<GenerateResponse | null> {
  const { experts, signal, task, assignment } = context;
  const { expert, k, pairs } = asking;
  try {
    return await experts.generate(expert, requestOf(), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AttemptFailure && ending.has(error.reason)) {
      context.log.info('an expert has no proposals', { expert: expert.name, reason: error.reason });
      return null;
    }
    if (error instanceof AttemptFailure) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const message = `expert ${expert.name} gave no proposals: ${why}; look at the pods of the pool`;
    throw new AttemptFailure('Infrastructure', 'ExpertUnavailable', message, { cause: error });
  }
  function requestOf(): GenerateRequest {
    return {
      requestId: `${(task.metadata.uid ?? task.metadata.name ?? 'task').slice(0, 64)}.${assignment.attempt}.${node.depth}.${node.tried.size}`,
      role: generatingRole(expert.role),
      goal: task.spec.goal,
      step: node.asked,
      grammar: 'Tool',
      files: [...focus.files],
      localisation: focus.localisation,
      k,
      maxEdits: pairs ? 2 : node.maxEdits,
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
