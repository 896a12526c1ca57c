import { toMicros, type AgentTask, type Run, type Usage } from '@agentfleet/protocol/api';

export const noUsage: Usage = {
  tokensIn: 0,
  tokensOut: 0,
  toolCalls: 0,
  cpuMillis: 0,
  wallSeconds: 0,
  candidates: 0,
  vetoes: 0,
  backtracks: 0,
};

/** What earlier attempts used, and what this one used before it came to this process. */
export function usedSoFar(task: AgentTask): { readonly earlier: Usage; readonly before: Usage } {
  const { assignment, run, totals } = task.status ?? {};
  const same = run !== undefined && run.attempt === assignment?.attempt;
  return { earlier: totals?.usage ?? noUsage, before: (same ? run.usage : undefined) ?? noUsage };
}

/**
 * The task with no more budget than its assignment set aside of the caps of its pool: what is raised later, an assignment
 * that comes later may use. Pure.
 */
export function withinAssignment(task: AgentTask): AgentTask {
  const { tokens, cost } = task.status?.assignment?.budget ?? {};
  if (tokens === undefined && cost === undefined) return task;
  const own = task.spec.budget;
  const budget = {
    ...own,
    ...(tokens === undefined ? {} : { tokens: Math.min(own.tokens ?? tokens, tokens) }),
    ...(cost === undefined ? {} : { cost: own.cost !== undefined && toMicros(own.cost) < toMicros(cost) ? own.cost : cost }),
  };
  return { ...task, spec: { ...task.spec, budget } };
}

/** The usage with the seconds of this attempt, when the engine did not count them. */
export function withWallSeconds(usage: Usage, before: Usage, elapsedMs: number): Usage {
  return usage.wallSeconds > 0 ? usage : { ...usage, wallSeconds: before.wallSeconds + Math.ceil(elapsedMs / 1000) };
}

/**
 * What a worker that takes an attempt over goes on reporting with: the newest report of the same attempt. An outcome or
 * a rollback, or that the work rests, stays only when it was written under this very epoch.
 */
export function baseOf(task: AgentTask, attempt: number, epoch: number): Run {
  const run = task.status?.run;
  if (run === undefined) return { attempt, epoch };
  // A new attempt of a task that has a durable copy still has it.
  if (run.attempt !== attempt) {
    const { snapshots, shadow, messagesTaken } = run;
    const copied = snapshots?.checkpointURI === undefined ? {} : { snapshots };
    // Copies are counted over all attempts, and a message is given once.
    const lasting = { ...(shadow !== undefined && { shadow }), ...(messagesTaken !== undefined && { messagesTaken }) };
    return { attempt, epoch, ...copied, ...lasting };
  }
  // Whoever waits for an approval says so again.
  const { pendingApproval: _, ...mine } = run;
  if (run.epoch === epoch) return mine;
  const { outcome: __, rollback: ___, quiescedAt: ____, ...kept } = mine;
  return { ...kept, epoch };
}
