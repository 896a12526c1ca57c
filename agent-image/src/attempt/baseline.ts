import { isCommandCheck, type Check, type ArtifactCheck, isArtifactCheck, type CommandCheck, type Protect } from '@agentfleet/protocol/api';
import {
  wholeRun,
  isLeftOut,
  protectedPaths,
  type CheckCommand,
  type ProtectedSet,
  badEnd,
  countTests,
  failureOfBuild,
  judgeBaseline,
  type BaselineJudgement,
  type Reason,
  type TestResult,
} from '../checks/index.ts';
import {
  assertSchema,
  differ,
  mayVary,
  namedIds,
  runAgain,
  runCheck,
  type Baseline,
  type CheckRunner,
  type JudgedCheck,
} from './checkRun.ts';
import { AttemptFailure } from '../base/failure.ts';
import { leavesOf } from '../base/paths.ts';
import { posix } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { createGate } from './gate.ts';
import { reachOf } from './sandboxSession.ts';
import { openStrategy, type Prepared, type Scope } from './scope.ts';

/** Rounds of reading scripts that scripts call; each finds at least one more file. */
const maxRounds = 12;
const maxScriptBytes = 256 * 1024;
/** Files of rules about what commits leave out. */
const maxIgnores = 256;

/**
 * Returns the paths that an attempt may not touch, from the tree of snapshot 0. The files that the checks' scripts call are read as
 * they are asked for: each round reads what the round before asked for.
 *
 * @param tree paths below the workspace at snapshot 0
 */
async function protection(
  tree: readonly string[],
  checks: readonly CheckCommand[],
  protect: Protect,
  read: (path: string) => Promise<Buffer | null>,
): Promise<ProtectedSet> {
  const paths = new Set(tree);
  const known = new Map<string, string | undefined>();
  for (let round = 0; ; round += 1) {
    const wanted = new Set<string>();
    const set = protectedPaths(tree, checks, protect, (path) => {
      if (!known.has(path) && paths.has(path)) wanted.add(path);
      return known.get(path);
    });
    if (wanted.size === 0 || round >= maxRounds) return set;
    for (const path of wanted) {
      const bytes = await read(path);
      known.set(path, bytes === null || bytes.length > maxScriptBytes ? undefined : bytes.toString('utf8'));
    }
  }
}

/** The set without the files that the agent is to make: what a check demands is never protected. */
function exceptArtifacts(set: ProtectedSet, artifacts: readonly ArtifactCheck[]): ProtectedSet {
  if (artifacts.length === 0) return set;
  const own = new Set(artifacts.map(({ path }) => path));
  return {
    ...set,
    why: (path) => (own.has(path) ? null : set.why(path)),
    shadows: (path) => (own.has(path) ? null : set.shadows(path)),
    addable: (path) => !own.has(path) && set.addable(path),
    derived: (path) => !own.has(path) && set.derived(path),
    inline: (path) => !own.has(path) && set.inline(path),
    reports: set.reports.filter((path) => !own.has(path)),
    files: set.files.filter((path) => !own.has(path)),
  };
}

/** The set of a task whose change is delivered: the proof has no new file that the commit would not hold. */
async function exceptLeftOut(scope: Scope, tree: readonly string[], set: ProtectedSet): Promise<ProtectedSet> {
  const { session, context } = scope;
  if (context.task.spec.output === undefined) return set;
  const ignores = new Map<string, string>();
  for (const path of tree.filter((one) => /^(?:.*\/)?\.gitignore$/.test(one)).slice(0, maxIgnores)) {
    const bytes = await session.read(path);
    if (bytes !== null && bytes.length <= maxScriptBytes) ignores.set(path, bytes.toString('utf8'));
  }
  const [isIgnored, there] = [isLeftOut(ignores), new Set(tree)];
  // What a check names is asked for, wherever it stays.
  const named = context.task.spec.checks.flatMap(({ command = [] }) => command).join('\n');
  const leftOut = (path: string): boolean => !path.startsWith('../') && !there.has(path) && !named.includes(path) && isIgnored(path);
  return { ...set, leftOut, derived: (path) => set.derived(path) || leftOut(path) };
}

/**
 * The parser of Node: place, source with a mark, error, and as its first frame what parses. A missing export is a SyntaxError
 * too, at the file that asks for it, but another file may mend that. In TAP all of it stands in comments.
 */
const node =
  /^(?:# )?(?:file:\/\/)?(\/[^\n]{1,1024}):(\d{1,7})\n(?:[^\n]*\n){0,6}?(?:# )?(SyntaxError\b[^\n]{0,300})\n(?:# )? +at (?:compileSourceTextModule|ModuleLoader\.moduleStrategy|wrapSafe|parseTypeScript|checkSyntax)\b/gm;

/** The last frame of a traceback; pytest puts an `E` before its lines. */
const python =
  /^(?:E )?\s*File "([^"\n]{1,1024})", line (\d{1,7})\n(?:[^\n]*\n){0,3}?(?:E )?\s*((?:Syntax|Indentation|Tab)Error: [^\n]{0,300})$/gm;

/**
 * The files that do not parse by a check's output, in its order; paths as they were printed, absolute or relative to where it ran.
 *
 * @example
 * unparsed('  File "/workspace/test_a.py", line 3\n    class T(:\n            ^\nSyntaxError: invalid syntax\n');
 * // [{ path: '/workspace/test_a.py', line: 3, why: 'SyntaxError: invalid syntax' }]
 */
export function unparsed(output: string) {
  const found = [node, python].flatMap((pattern) => [...output.matchAll(pattern)]);
  return found
    .toSorted((a, b) => a.index - b.index)
    .map(([, path = '', line = '', why = '']) => ({ path, line: Number(line), why: why.trim() }));
}

/** A check that fails is run again to find flaky tests, unless it takes longer than this: a test that timed out once is not mended later. */
const repeatBelowMs = 120_000;

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
  const { checks: all, whenAlreadyTrue, protect } = task.spec;
  const [commands, artifacts] = [all.filter(isCommandCheck), all.filter(isArtifactCheck)];
  for (const check of artifacts) assertSchema(check);
  const found = await protection(tree, commands, protect, (path) => session.read(path));
  const protectedSet = exceptArtifacts(await exceptLeftOut(scope, tree, found), artifacts);
  const reach = reachOf(context, task.spec.policy.network.mode === 'Allowed' ? 'Allowed' : 'None');
  const runner: CheckRunner = { session, task, reports: protectedSet.reports, reportFolders: protectedSet.reportFolders, reach };
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
  await session.backTo(initial.id);
  await session.note('Baseline', noteOf(context.assignment.attempt, checks));
  const holds = checks.every(({ judgement }) => judgement.failing.length === 0);
  const reviews = all.filter(({ type }) => type === 'Review');
  const open = openStrategy(scope) !== null;
  const mustPass = checks.length > 0 && checks.every(({ check }) => check.expect !== 'Auto');
  const alreadyTrue = holds && reviews.length === 0 && (whenAlreadyTrue === 'Succeed' || (!open && mustPass));
  if (holds && !alreadyTrue && !open) throw unprovable(checks);
  progress.establish('BaselineJudged');
  progress.finish('baseline');
  const inOrder = all.flatMap(({ name }) => checks.find(({ check }) => check.name === name) ?? []);
  return { checks: inOrder, reviews, tree, protectedSet, runner, holds, alreadyTrue };
}

/** Files of the workspace at snapshot 0, from the keeper: no image has to have `find` or `git`. */
async function listTree({ session }: Scope, empty: string, initial: string): Promise<readonly string[]> {
  const { entries } = await session.diff(empty, initial);
  return leavesOf(entries.flatMap(({ op, path }) => (op === 'D' ? [] : (session.relative(path) ?? []))));
}

async function admitChecks({ context, session, options }: Scope, commands: readonly CommandCheck[], set: ProtectedSet): Promise<void> {
  const { task } = context;
  const gate = createGate({ rails: options.rails, task, session }, set);
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
  const varies = differ(twice) || (again && (await mayVary(check, first, tree, (path) => runner.session.read(path))));
  const baseline = varies ? await runAgain({ check, format }, runner, twice) : twice;
  const judgement = judgeBaseline(baseline, check.expect);
  if (judgement.accepted) return { check, baseline, judgement, format, varies };
  throw refusal(check, judgement.class, judgement.reasons);
}

/** Runs at snapshot 0 of a check that passes at the first one, and names nothing that varies; of longer ones there is one. */
const mostPasses = 3;
const repeatPassingBelowMs = 10_000;

/** Runs checks that all pass, of a task that nothing can be proved for then, again: one may have passed by chance. */
async function lookAgain(checks: JudgedCheck[], runner: CheckRunner, tree: readonly string[]): Promise<void> {
  if (checks.some(({ judgement }) => judgement.failing.length > 0 || judgement.flaky.length > 0)) return;
  for (const [at, { check, format, baseline }] of checks.entries()) {
    const [first] = baseline;
    if (check.expect !== 'Auto' || first?.end.exitCode !== 0 || first.millis >= repeatPassingBelowMs) continue;
    const varies = await mayVary(check, first, tree, (path) => runner.session.read(path));
    const runs = await runAgain({ check, format }, runner, baseline, varies ? undefined : mostPasses);
    const judgement = judgeBaseline(runs, check.expect);
    if (judgement.accepted) checks[at] = { check, baseline: runs, judgement, format, varies };
  }
}

function refusal(check: Check, cls: BaselineJudgement['class'], reasons: readonly Reason[]): AttemptFailure {
  const [first] = reasons;
  const explained = reasons.slice(0, 3).map(({ message, cure }) => `${message}; ${cure}`);
  return new AttemptFailure(
    cls ?? 'InvalidInput',
    first?.code ?? 'BaselineRefused',
    `at snapshot 0, ${explained.join(' · ') || `check ${check.name} proves nothing`}`,
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
    `at snapshot 0, check ${judged.check.name}: ${broken.path} does not load: ${broken.why} (line ${broken.line}); it is protected: ${set.why(broken.path)?.why ?? ''}, so that no candidate may mend it: correct the file, or list it in spec.protect.except of a new task`,
  );
}

/** Returns the failure with which a pool without a chat model does not begin: nothing that it could do would be proved. */
function unprovable(checks: readonly JudgedCheck[]): AttemptFailure {
  if (checks.some(({ check, judgement }) => check.expect === 'Auto' && judgement.flaky.length > 0)) {
    const message = `nothing fails at snapshot 0 each time: ${seenAtBaseline(checks)}. What passes at times proves no change; make it repeatable, or add a check that fails until the goal is reached`;
    return new AttemptFailure('InvalidInput', 'OnlyFlaky', message);
  }
  const seen = checks.length === 0 ? 'there is none but a review' : seenAtBaseline(checks);
  const message = `all checks pass at snapshot 0 already (${seen}), so that passing would prove no change; add a check that fails until the goal is reached, or use a pool with a chat model or an agent program; spec.whenAlreadyTrue: Succeed would end it with nothing done`;
  return new AttemptFailure('InvalidInput', 'NothingToProve', message);
}

function noteOf(attempt: number, checks: readonly JudgedCheck[]): Readonly<Record<string, unknown>> {
  const measured = checks.map(({ check, judgement, baseline, format }) => ({
    check: check.name,
    expect: judgement.expect,
    format,
    runs: baseline.length,
    failing: namedIds(judgement.failing),
    flaky: namedIds(judgement.flaky),
  }));
  return { attempt, checks: measured };
}

/**
 * Returns the result of each check on the untouched tree, in one line: counts and the first failing tests, the file that does not
 * parse, or the reason why the command did not come to its end.
 *
 * @example
 * seenAtBaseline(checks); // 'check unit: 3 passed, 1 failed (test_calc.T.test_half)'
 */
export function seenAtBaseline(checks: readonly JudgedCheck[]): string {
  return checks.slice(0, 3).map(seen).join('; ');
}

function seen({ check, baseline, judgement }: JudgedCheck): string {
  const [first] = baseline;
  if (first === undefined) return `check ${check.name} did not run`;
  if (check.type === 'Artifact') return `check ${check.name}: ${first.output === '' ? 'the file is as it has to be' : first.output}`;
  const parts: string[] = [];
  const bad = badEnd(first);
  const [broken] = unparsed(first.output);
  const { passed, failed, errored, skipped } = countTests({
    ...first.results,
    tests: first.results.tests.filter(({ id }) => id !== wholeRun),
  });
  if (bad !== null) parts.push(`${bad.message} after ${Math.max(1, Math.round(first.millis / 1000))} s (${bad.cure})`);
  if (broken !== undefined) parts.push(`${broken.path}:${broken.line}: ${broken.why}`);
  if (passed + failed + errored > 0)
    parts.push(
      `${passed} passed, ${failed + errored} failed${skipped > 0 ? `, ${skipped} skipped` : ''}${named(judgement.failing, first.results.tests)}`,
    );
  else if (bad === null && broken === undefined) parts.push(`exit status ${first.end.exitCode ?? 'unknown'}, ${lastWords(first.output)}`);
  if (first.results.stopped) parts.push('it stopped there, so that other tests may not have run');
  if (judgement.flaky.length > 0) {
    const ids = judgement.flaky.slice(0, 3).map(shownId).join(', ');
    parts.push(`not repeatable in ${baseline.length} runs on the same files, so not counted: ${ids}`);
  }
  return `check ${check.name}: ${parts.join('; ')}`;
}

const maxMessage = 160;

/** The first failing tests, without the groups that they are in unless nothing else fails, with the message of the first one. */
function named(failing: readonly string[], results: readonly TestResult[]): string {
  const groups = new Set([wholeRun, ...results.filter(({ kind }) => kind === 'Group').map(({ id }) => id)]);
  const tests = failing.filter((id) => !groups.has(id));
  const leaves = tests.length > 0 ? tests : failing.filter((id) => id !== wholeRun);
  const [first, ...others] = leaves.slice(0, 3);
  if (first === undefined) return '';
  const more = leaves.length > 3 ? ` and ${leaves.length - 3} more` : '';
  const message = (results.find(({ id }) => id === first)?.message ?? '').trim().replaceAll(/\s+/g, ' ');
  const why = message === '' ? '' : `: ${JSON.stringify(message.slice(0, maxMessage))}`;
  const rest = others.length === 0 ? '' : `${why === '' ? ',' : ';'} ${others.map(shownId).join(', ')}`;
  return ` (${shownId(first)}${why}${rest}${more})`;
}

/** The reason that Maven or Gradle gives before its advice, else the last line that a command printed before `make` ended, which often is one. */
export function lastWords(output: string): string {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .map((line) => line.trim().replaceAll(/\s+/g, ' '));
  const said = lines.filter((each) => each !== '');
  const line = failureOfBuild(lines) ?? said.findLast((each) => !/^g?make(?:\[\d+\])?: \*\*\* /.test(each)) ?? said.at(-1) ?? '';
  return line === '' ? 'and it printed nothing' : JSON.stringify(line.slice(0, 160));
}

/** Tests of one file differ at the end of their names. */
export function shownId(id: string): string {
  const cut = id.length > 140 ? `${id.slice(0, 40)}… ${id.slice(-98)}` : id;
  return id === wholeRun ? 'the command' : cut;
}
