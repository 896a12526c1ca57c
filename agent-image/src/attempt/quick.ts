import { isCommandCheck } from '@agentfleet/protocol/api';
import { judgeBaseline, selectTests, wholeRun } from '../checks/index.ts';
import type { Baseline, JudgedCheck } from './baseline.ts';
import { runCheck, timeoutOf } from './checkRun.ts';
import { trialSeconds } from './trial.ts';

/** A check that takes less is run whole, ms. */
const worthwhileMs = 2000;
/** Most tests that are selected by name. */
const mostTests = 20;

/**
 * For each check that fails, in its place a run of its failing tests alone, where the runner can select them and they fail alone as well
 * in half of the time or less. A candidate with which no further one passes needs no run of the whole check. The tree is that of
 * snapshot 0; the caller puts back what the runs leave behind.
 *
 * @returns nothing when no check has such a run
 */
export async function quickChecks({ checks, runner }: Baseline): Promise<readonly JudgedCheck[]> {
  const failing = checks.filter(({ judgement }) => judgement.failing.length > 0);
  const quick: JudgedCheck[] = [];
  for (const judged of failing) quick.push((await alone(judged, runner)) ?? judged);
  return quick.every((one) => failing.includes(one)) ? [] : quick;
}

async function alone({ check, baseline, judgement, format, varies }: JudgedCheck, runner: Baseline['runner']): Promise<JudgedCheck | null> {
  const [first] = baseline;
  const { failing } = judgement;
  const isSmall = first === undefined || first.end.timedOut || first.millis < worthwhileMs;
  if (!isCommandCheck(check) || isSmall || failing.length > mostTests || failing.includes(wholeRun)) return null;
  const command = selectTests(check.command, format, failing);
  if (command === null) return null;
  const selected = { ...check, command: [...command] };
  const run = await runCheck(selected, format, runner, trialSeconds(baseline, timeoutOf(check, runner.task)));
  const judged = judgeBaseline([run], check.expect);
  const isSame = judged.accepted && judged.failing.length === failing.length && failing.every((id) => judged.failing.includes(id));
  if (!isSame || !run.results.complete || run.end.timedOut || 2 * run.millis > first.millis) return null;
  return { check: selected, baseline: [run], judgement: judged, format, varies };
}
