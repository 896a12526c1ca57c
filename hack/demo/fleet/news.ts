import type { AgentTask, Condition } from '@agentfleet/protocol/api';

/** What changed from one state of a task to the next, a line for each change. Pure. */
export function news(before: AgentTask | undefined, after: AgentTask): readonly string[] {
  const [old, now] = [before?.status, after.status];
  const lines: string[] = [];
  if (now?.phase !== undefined && now.phase !== old?.phase) lines.push(now.phase);
  for (const condition of now?.conditions ?? []) if (isNews(old?.conditions, condition)) lines.push(conditionLine(condition));
  const { progress, outcome } = now?.run ?? {};
  const reported = old?.run?.progress;
  if (progress !== undefined && (progress.done !== reported?.done || progress.message !== reported.message))
    lines.push(`${progress.done}/${progress.total} ${progress.message ?? ''}`.trimEnd());
  if (outcome !== undefined && old?.run?.outcome === undefined) lines.push(`worker: ${outcome.result} (${outcome.reason})`);
  return lines;
}

/** Conditions that say what others say too. */
const summaries: ReadonlySet<string> = new Set(['Ready', 'Reconciling', 'Finished', 'Stalled']);

function isNews(old: readonly Condition[] | undefined, { type, status, reason }: Condition): boolean {
  if (summaries.has(type) || status === 'Unknown') return false;
  const known = old?.find((condition) => condition.type === type);
  return known?.status !== status || known.reason !== reason;
}

function conditionLine({ type, status, reason, message }: Condition): string {
  const words = message === undefined || message === '' ? '' : `: ${message.split('\n', 1)[0] ?? ''}`;
  return `${type}=${status} (${reason})${words}`.slice(0, 160);
}
