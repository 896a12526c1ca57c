import { posix } from 'node:path';
import { isArtifactCheck, isCommandCheck, type Check, type CommandCheck } from '@agentfleet/protocol/api';
import { judgeBaseline, type BaselineJudgement, type ProtectedSet, type Reason, type ResultFormat } from '../checks/index.ts';
import { assertSchema } from './artifactRun.ts';
import { mayVary, runAgain } from './chance.ts';
import { runCheck, type CheckRunner, type Ran } from './checkRun.ts';
import { seenAtBaseline } from './ends.ts';
import { AttemptFailure } from './failure.ts';
import { createGate } from './gate.ts';
import type { Prepared } from './prepare.ts';
import { exceptArtifacts, protection } from './protection.ts';
import { reachOf } from './reach.ts';
import type { Scope } from './scope.ts';
import { chatStrategy } from './strategy.ts';
import { unparsed } from './unparsed.ts';

/** A check, and what it said at snapshot 0. */
export interface JudgedCheck {
  readonly check: Check;
  readonly baseline: readonly Ran[];
  readonly judgement: BaselineJudgement;
  /** How its results are read from now on. */
  readonly format: ResultFormat;
  /** It may give another result at each run: one run proves nothing. */
  readonly varies: boolean;
}

/** What is known once the checks ran at snapshot 0. */
export interface Baseline {
  /** All but the reviews. */
  readonly checks: readonly JudgedCheck[];
  /** Checks of type Review: a person is asked when all others hold. */
  readonly reviews: readonly Check[];
  /** Paths below the workspace at snapshot 0. */
  readonly tree: readonly string[];
  readonly protectedSet: ProtectedSet;
  readonly runner: CheckRunner;
  /** Whether no check failed; reviews do not count. */
  readonly holds: boolean;
  /** There is nothing to do, and the task says that this is a success. */
  readonly alreadyTrue: boolean;
}

/** A check that fails is run again to tell flaky tests, unless it takes longer than this. */
const repeatBelowMs = 10_000;

/**
 * Runs every check at snapshot 0 and judges whether it can prove anything. A task whose checks cannot is reported before
 * any of its budget is spent.
 *
 * @throws AttemptFailure InvalidInput with the check, what is wrong and the cure
 */
export async function judgeAtBaseline(scope: Scope, { empty, initial }: Prepared): Promise<Baseline> {
  const { context, session, progress } = scope;
  const { task } = context;
  progress.begin('baseline', 'running the checks at snapshot 0');
  const tree = await listTree(scope, empty.id, initial.id);
  const protect = { mode: task.spec.protect.mode, paths: task.spec.protect.paths ?? [] };
  const { checks: all, whenAlreadyTrue } = task.spec;
  const [commands, artifacts] = [all.filter(isCommandCheck), all.filter(isArtifactCheck)];
  for (const check of artifacts) assertSchema(check);
  const found = await protection(tree, commands, protect, (path) => session.read(path));
  const protectedSet = exceptArtifacts(found, artifacts);
  const reach = reachOf(context, task.spec.policy.network.mode === 'Allowed' ? 'Allowed' : 'None');
  const runner: CheckRunner = { session, task, reports: protectedSet.reports, reach };
  await admitChecks(scope, commands, protectedSet);
  const checks: JudgedCheck[] = [];
  // Files are looked at before a command can write one.
  for (const check of [...artifacts, ...commands]) {
    progress.say(`running check ${check.name} at snapshot 0`);
    assertWithinBudget(scope, checks);
    checks.push(await judgeOne(check, runner, tree));
    assertLoads(scope, checks.at(-1), protectedSet);
  }
  await lookAgain(checks, runner, tree);
  if ((await session.diff(initial.id)).entries.length > 0) await session.restore(initial.id);
  await session.note('Baseline', noteOf(context.assignment.attempt, checks));
  const holds = checks.every(({ judgement }) => judgement.failing.length === 0);
  const reviews = all.filter(({ type }) => type === 'Review');
  const chat = chatStrategy(scope) !== null;
  const alreadyTrue = holds && reviews.length === 0 && (whenAlreadyTrue === 'Succeed' || (!chat && nothingOpen(checks)));
  if (holds && !alreadyTrue && !chat) throw unprovable(checks);
  progress.establish('BaselineJudged');
  progress.finish('baseline', { snapshot: initial.id });
  const inOrder = all.flatMap(({ name }) => checks.find(({ check }) => check.name === name) ?? []);
  return { checks: inOrder, reviews, tree, protectedSet, runner, holds, alreadyTrue };
}

/** Files of the workspace at snapshot 0, from the keeper: no image has to have `find` or `git`. */
async function listTree({ session }: Scope, empty: string, initial: string): Promise<readonly string[]> {
  const { entries } = await session.diff(empty, initial);
  const paths = entries.flatMap(({ op, path }) => (op === 'D' ? [] : (session.relative(path) ?? [])));
  const folders = new Set(paths.flatMap((path) => path.split('/').map((_, at, parts) => parts.slice(0, at).join('/'))));
  return paths.filter((path) => !folders.has(path));
}

async function admitChecks({ context, session, options }: Scope, commands: readonly CommandCheck[], set: ProtectedSet): Promise<void> {
  const { task } = context;
  const gate = createGate({ rails: options.rails, task, roots: session.roots, absolute: (path) => session.absolute(path) }, set);
  for (const check of commands) {
    const decision = gate.admit(check, 'check');
    if (decision !== 'Allow') await session.note('Admitted', { check: check.name, decision });
  }
}

/** @throws AttemptFailure BudgetExceeded: set-up and checks alone took it, so that nothing was tried */
function assertWithinBudget({ meter }: Scope, checks: readonly JudgedCheck[]): void {
  try {
    meter.check();
  } catch (error) {
    if (!(error instanceof AttemptFailure)) throw error;
    const seen = checks.length === 0 ? 'no check ran' : seenAtBaseline(checks);
    const message = `${error.message} before anything was tried: set-up and the checks at snapshot 0 took it; ${seen}. Make them shorter, or raise the budget`;
    throw new AttemptFailure(error.failureClass, error.reason, message);
  }
}

async function judgeOne(check: Check, runner: CheckRunner, tree: readonly string[]): Promise<JudgedCheck> {
  let first = await runCheck(check, check.format, runner);
  if (first.end.interrupted !== undefined) first = await runCheck(check, check.format, runner);
  const format = first.results.format;
  const again =
    isCommandCheck(check) &&
    first.end.exitCode !== 0 &&
    first.end.error === undefined &&
    !first.end.timedOut &&
    first.millis < repeatBelowMs;
  const twice = again ? [first, await runCheck(check, format, runner)] : [first];
  const varies = again && (await mayVary(check, first, tree, (path) => runner.session.read(path)));
  const baseline = varies ? await runAgain({ check, format }, runner, twice) : twice;
  const judgement = judgeBaseline(baseline, check.expect);
  if (judgement.accepted) return { check, baseline, judgement, format, varies };
  throw refusal(check, judgement.class, judgement.reasons);
}

/** Runs at snapshot 0 of a check that passes at the first one, and names nothing that varies. */
const mostPasses = 3;

/** Runs checks that all pass, of a task that nothing can be proved for then, again: one may have passed by chance. */
async function lookAgain(checks: JudgedCheck[], runner: CheckRunner, tree: readonly string[]): Promise<void> {
  if (checks.some(({ judgement }) => judgement.failing.length > 0 || judgement.flaky.length > 0)) return;
  for (const [at, { check, format, baseline }] of checks.entries()) {
    const [first] = baseline;
    if (check.expect !== 'Auto' || first?.end.exitCode !== 0 || first.millis >= repeatBelowMs) continue;
    const varies = await mayVary(check, first, tree, (path) => runner.session.read(path));
    const runs = await runAgain({ check, format }, runner, baseline, varies ? undefined : mostPasses);
    const judgement = judgeBaseline(runs, check.expect);
    if (judgement.accepted) checks[at] = { check, baseline: runs, judgement, format, varies };
  }
}

function refusal(check: Check, cls: BaselineJudgement['class'], reasons: readonly Reason[]): AttemptFailure {
  const [first] = reasons;
  const reported = reasons.slice(0, 3).map(({ message, cure }) => `${message}; ${cure}`);
  return new AttemptFailure(
    cls ?? 'InvalidInput',
    first?.code ?? 'BaselineRefused',
    `at snapshot 0, ${reported.join(' · ') || `check ${check.name} proves nothing`}`,
  );
}

/** A test file that does not parse never passes, and no candidate may mend it. */
function assertLoads({ session }: Scope, judged: JudgedCheck | undefined, set: ProtectedSet): void {
  if (judged === undefined || judged.judgement.failing.length === 0) return;
  const files = judged.baseline.flatMap(({ output }) => unparsed(output));
  const broken = files
    .map((file) => ({ ...file, path: posix.relative(session.root.path, session.absolute(file.path)) }))
    .find(({ path }) => set.why(path) !== null);
  if (broken === undefined) return;
  throw new AttemptFailure(
    'InvalidInput',
    'TestDoesNotLoad',
    `at snapshot 0, check ${judged.check.name}: ${broken.path} does not load: ${broken.why} (line ${broken.line}); it is protected: ${set.why(broken.path)?.why ?? ''}, so that no candidate may mend it: correct the file, or set spec.protect`,
  );
}

/** Whether every check is to pass and nothing more. */
function nothingOpen(checks: readonly JudgedCheck[]): boolean {
  return checks.length > 0 && checks.every(({ check }) => check.expect !== 'Auto');
}

/** Why a pool without a chat model does not begin: nothing that it could do would be proved. */
function unprovable(checks: readonly JudgedCheck[]): AttemptFailure {
  if (checks.some(({ check, judgement }) => check.expect === 'Auto' && judgement.flaky.length > 0)) {
    const message = `nothing fails at snapshot 0 each time: ${seenAtBaseline(checks)}. What passes at times proves no change; make it repeatable, or add a check that fails until the goal is reached`;
    return new AttemptFailure('InvalidInput', 'OnlyFlaky', message);
  }
  const seen = checks.length === 0 ? 'there is none but a review' : seenAtBaseline(checks);
  const message = `all checks pass at snapshot 0 already (${seen}), so that passing would prove no change; add a check that fails until the goal is reached, or use a pool with a chat model; spec.whenAlreadyTrue: Succeed would end it with nothing done`;
  return new AttemptFailure('InvalidInput', 'NothingToProve', message);
}

/** Most failing ids that the note names: it is bounded, and the log has the output anyway. */
const maxNamed = 200;

function noteOf(attempt: number, checks: readonly JudgedCheck[]): Readonly<Record<string, unknown>> {
  const reported = checks.map(({ check, judgement, baseline, format }) => ({
    check: check.name,
    expect: judgement.expect,
    format,
    runs: baseline.length,
    failing: judgement.failing.slice(0, maxNamed).map((id) => id.slice(0, 256)),
    flaky: judgement.flaky.slice(0, maxNamed).map((id) => id.slice(0, 256)),
  }));
  return { attempt, checks: reported };
}
