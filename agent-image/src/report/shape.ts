import { maxAnswerBytes, maxMessagesTaken, maxPatchCharacters, maxPlanNodes, type Run } from '@agentfleet/protocol/api';
import { cut, cutAnswer, cutPatch } from './cut.ts';

type Plan = NonNullable<Run['plan']>;
type PlanNode = Plan[number];

/** What gives way first when a plan has too many nodes; the rest is dropped from the end. */
const dispensable: readonly ((node: PlanNode) => boolean)[] = [
  (node) => node.state === 'Dropped',
  (node) => node.kind === 'Step' && node.state === 'Failed',
  (node) => node.kind === 'Step' && node.state === 'Done',
  (node) => node.kind === 'Step' && node.state === 'Pending',
];

/** At most `max` nodes in their order: goals and what is running stay longest. */
export function fewerNodes(plan: Plan, max: number): Plan {
  let kept = plan;
  for (const gives of dispensable) {
    let excess = kept.length - max;
    if (excess <= 0) return kept;
    kept = kept.filter((node) => {
      if (excess <= 0 || !gives(node)) return true;
      excess -= 1;
      return false;
    });
  }
  return kept.slice(0, max);
}

/** Numbers of the API are whole and bounded: rounds up, so that 0.2 s is not "nothing". */
function whole(value: number, max: number, min = 0): number {
  return Number.isFinite(value) ? Math.min(max, Math.max(min, Math.ceil(value))) : min;
}

function wholeUsage(usage: NonNullable<Run['usage']>): NonNullable<Run['usage']> {
  const entries = Object.entries(usage).map(([name, value]) => [
    name,
    typeof value === 'number' ? whole(value, Number.MAX_SAFE_INTEGER) : value,
  ]);
  return Object.fromEntries(entries) as NonNullable<Run['usage']>;
}

function shapedOutcome(outcome: NonNullable<Run['outcome']>): NonNullable<Run['outcome']> {
  const checks = outcome.checks?.slice(0, 16).map((check) => ({
    ...check,
    passed: whole(check.passed, 10_000_000),
    failed: whole(check.failed, 10_000_000),
    skipped: whole(check.skipped, 10_000_000),
    seconds: whole(check.seconds, 86_400),
  }));
  return {
    ...outcome,
    ...(outcome.message === undefined ? {} : { message: cut(outcome.message, 1024) }),
    ...(checks === undefined ? {} : { checks }),
  };
}

function shapedProgress(progress: NonNullable<Run['progress']>): NonNullable<Run['progress']> {
  return {
    ...progress,
    done: whole(progress.done, 100_000),
    total: whole(progress.total, 100_000),
    ...(progress.message === undefined ? {} : { message: cut(progress.message, 256) }),
  };
}

function shapedRollback(rollback: NonNullable<Run['rollback']>): NonNullable<Run['rollback']> {
  if (rollback.irreversible === undefined) return rollback;
  return { ...rollback, irreversible: rollback.irreversible.slice(0, 16).map((effect) => cut(effect, 256)) };
}

function shapedApproval(pending: NonNullable<Run['pendingApproval']>): NonNullable<Run['pendingApproval']> {
  return {
    ...pending,
    summary: cut(pending.summary, 512),
    ...(pending.question === undefined ? {} : { question: cut(pending.question, 1024) }),
    ...(pending.evidence === undefined ? {} : { evidence: cut(pending.evidence, 1024) }),
  };
}

/** The run with every list, text and number inside the API's bounds. Says nothing about patterns and the whole size. */
export function shape(run: Run): Run {
  const { progress, plan, usage, experts, pendingApproval, artifacts, answer, messagesTaken, patch, rollback, outcome } = run;
  return {
    ...run,
    ...(progress === undefined ? {} : { progress: shapedProgress(progress) }),
    ...(plan === undefined ? {} : { plan: fewerNodes(plan, maxPlanNodes).map((node) => ({ ...node, intent: cut(node.intent, 96) })) }),
    ...(usage === undefined ? {} : { usage: wholeUsage(usage) }),
    ...(experts === undefined ? {} : { experts: experts.slice(0, 16) }),
    ...(pendingApproval === undefined ? {} : { pendingApproval: shapedApproval(pendingApproval) }),
    ...(artifacts === undefined ? {} : { artifacts: artifacts.slice(0, 16) }),
    ...(answer === undefined ? {} : { answer: cutAnswer(answer, maxAnswerBytes) }),
    ...(messagesTaken === undefined ? {} : { messagesTaken: messagesTaken.slice(-maxMessagesTaken) }),
    ...(patch === undefined ? {} : { patch: cutPatch(patch, maxPatchCharacters) }),
    ...(rollback === undefined ? {} : { rollback: shapedRollback(rollback) }),
    ...(outcome === undefined ? {} : { outcome: shapedOutcome(outcome) }),
  };
}
