import { KeeperRefusal } from '@agentfleet/keeper/client';
import {
  type ArtifactCheck,
  defaultStepTimeoutSeconds,
  isArtifactCheck,
  isCommandCheck,
  type AgentTask,
  type Check,
} from '@agentfleet/protocol/api';
import {
  artifactFaults,
  parseResults,
  SchemaError,
  namingEnvironment,
  reportFiles,
  type CheckRun,
  type ResultFormat,
  type BaselineJudgement,
  type ProtectedSet,
  compare,
  type Reason,
  type Verdict,
  wholeRun,
} from '../checks/index.ts';
import { AttemptFailure } from '../base/failure.ts';
import type { FileList } from '@agentfleet/protocol/keeper';
import type { SandboxSession, Reach } from './sandboxSession.ts';
import { Redaction } from '@agentfleet/protocol/redact';
import { domainOf, isForeign } from '../features/languages.ts';

/**
 * Looks at the file that a check demands, as the keeper reads it: no command runs. As a run it ends with status 0 where the
 * file is as it has to be, else with 1 and what is wrong as its output.
 */
async function runArtifact(check: ArtifactCheck, session: Pick<SandboxSession, 'read'>): Promise<Ran> {
  const faults = await faultsOf(check, session);
  return withoutCommand(check, faults.length === 0 ? 0 : 1, faults.join('; '));
}

/** The result of a check that runs nothing, as a run. */
export function withoutCommand({ name }: Pick<Check, 'name'>, exitCode: number, output: string): Ran {
  const end = { exitCode, signal: null, timedOut: false, killed: null, oom: false };
  return { check: name, end, results: parseResults('Exit', { exitCode, stdout: output, stderr: '' }), output, millis: 0 };
}

async function faultsOf(check: ArtifactCheck, session: Pick<SandboxSession, 'read'>): Promise<readonly string[]> {
  try {
    return artifactFaults(check, await session.read(check.path));
  } catch (error) {
    if (error instanceof SchemaError) return [`spec.checks[].jsonSchema of check ${check.name} judges nothing: ${error.message}`];
    if (error instanceof KeeperRefusal && error.code === 'AF_TOO_LARGE') return [error.message];
    throw error;
  }
}

/** @throws AttemptFailure InvalidInput for a schema that can judge nothing, before anything is spent */
export function assertSchema(check: ArtifactCheck): void {
  try {
    artifactFaults(check, null);
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    const message = `spec.checks[].jsonSchema of check ${check.name} can judge nothing: ${error.message}; correct it in a new task`;
    throw new AttemptFailure('InvalidInput', 'SchemaInvalid', message);
  }
}

/** A run of a check, with what it said. */
export interface Ran extends CheckRun {
  /** The end of both outputs: where to look for the place of a failure. */
  readonly output: string;
  readonly millis: number;
}

/** Report files of all checks; those outside the workspace cannot be read and prove nothing. */
export interface CheckRunner {
  readonly session: SandboxSession;
  readonly task: AgentTask;
  /** Reach of checks outside of the sandbox; null: nothing. */
  readonly reach: Reach | null;
  /** Report files that scripts of the checks write, and folders in which builds do, from the protected set. */
  readonly reports: readonly string[];
  readonly reportFolders: readonly string[];
}

const maxOutput = 32_768;

/** Wall time of a set-up step or a check, seconds. */
export function timeoutOf(step: { readonly timeoutSeconds?: number }, task: AgentTask): number {
  return step.timeoutSeconds ?? Math.min(defaultStepTimeoutSeconds, task.spec.deadlineSeconds);
}

/**
 * Runs a check once on the tree as it is: reports of earlier runs are deleted before it, and its results are read. Of an
 * Artifact the file is looked at, and nothing is deleted.
 *
 * @param format `Auto` only at the baseline; after it what the baseline had
 * @param withinSeconds ends it sooner than the task's own bound
 */
export async function runCheck(
  check: Check,
  format: ResultFormat | 'Auto',
  { session, task, reports, reportFolders, reach }: CheckRunner,
  withinSeconds = Number.POSITIVE_INFINITY,
): Promise<Ran> {
  if (isArtifactCheck(check)) return runArtifact(check, session);
  if (!isCommandCheck(check)) throw new TypeError(`check ${check.name} is of type ${check.type}, which nothing runs; report this fault`);
  const own = [...new Set([...reportFiles(check.command), ...reports])].filter((path) => !path.startsWith('/'));
  await session.remove([...own, ...reportFolders]);
  const left = new Set(await reportsIn(session, reportFolders));
  const timeoutSeconds = Math.min(timeoutOf(check, task), withinSeconds);
  const { stdout, stderr, end } = await session.exec({
    argv: check.command,
    env: namingEnvironment,
    timeoutSeconds,
    reach,
    redaction: 'Raw',
  });
  const files: { readonly path: string; readonly bytes: Uint8Array }[] = [];
  const written = (await reportsIn(session, reportFolders)).filter((path) => !left.has(path));
  for (const path of [...own, ...written]) {
    const bytes = await session.read(path);
    if (bytes !== null) files.push({ path, bytes });
  }
  const truncated = end.dropped.stdout + end.dropped.stderr > 0;
  const results = parseResults(format, { exitCode: end.exitCode, stdout, stderr, files, truncated });
  // Results are read from the exact bytes; what people and models see of them has no secrets.
  const said = results.format === 'Exit' ? stdout : withoutPassed(stdout);
  const output = new Redaction(() => undefined).open().text(tail(`${said}\n${stderr}`, maxOutput));
  return { check: check.name, end, results, output, millis: end.durationMs };
}

/** Bytes of the reports of a build that are read: more is left out. */
const maxReports = 128 * 1024 * 1024;

/** The JUnit files of the tasks of a build. One that cannot be deleted is there before the check and after it. */
async function reportsIn(session: SandboxSession, folders: readonly string[]): Promise<readonly string[]> {
  let sum = 0;
  const found: string[] = [];
  for (const folder of folders) {
    for (const { path, kind, bytes } of await entriesBelow(session, folder))
      if (kind === 'file' && /\/TEST-[^/]*\.xml$/.test(path) && (sum += bytes) <= maxReports) found.push(`${folder}/${path}`);
  }
  return found;
}

/** Reports whether a folder of the sandbox is there, by its absolute path. */
export function isFolder(session: Pick<SandboxSession, 'call'>, path: string): Promise<boolean> {
  const listed = session.call((keeper) => keeper.listFiles(path, 1, 1));
  return listed.then(
    () => true,
    (error: unknown) => {
      if (error instanceof KeeperRefusal) return false;
      throw error;
    },
  );
}

/** Entries of a folder and of those in it; none where there is no folder. */
async function entriesBelow(session: SandboxSession, folder: string): Promise<FileList['entries']> {
  try {
    return (await session.call((keeper) => keeper.listFiles(session.absolute(folder), 2, 10_000))).entries;
  } catch (error) {
    if (error instanceof KeeperRefusal && /^AF_(?:FILE_NOT_|PATH_OUTSIDE_)/.test(error.code)) return [];
    throw error;
  }
}

/** Lines of TAP, pytest and go test about a test that passed: many of them leave no room for the failing ones. */
const passedLine = /^(?:ok \d+ (?!.*# TODO).*\n(?! +---)|(?:PASSED \S|=== (?:RUN|PAUSE|CONT) |[ \t]*--- PASS: ).*\n)/gm;

export const withoutPassed = (output: string): string => output.replaceAll(passedLine, '');

export function tail(text: string, characters: number): string {
  return text.length <= characters ? text : `…${text.slice(1 - characters)}`;
}

/** One check on some tree, against the baseline. */
export interface Proof {
  readonly judged: JudgedCheck;
  readonly run: Ran;
  readonly verdict: Verdict;
}

/** Codes of reasons that report only that work is left; any other reports that something broke or cannot be trusted. */
const unfinished: ReadonlySet<Reason['code']> = new Set(['NothingFixed', 'StillFails']);

/** Runs a check on the tree as it is and compares it with its baseline; ends it after some seconds where they are given. */
export async function prove(judged: JudgedCheck, { runner }: Baseline, withinSeconds?: number): Promise<Proof> {
  const run = await runCheck(judged.check, judged.format, runner, withinSeconds);
  return { judged, run, verdict: compare(judged.baseline, run, judged.check.expect) };
}

/** The same, once more where something outside of the command cut it off: the loss of a container is not the result's fault the first time. */
export async function proveAgain(judged: JudgedCheck, baseline: Baseline): Promise<Proof> {
  const first = await prove(judged, baseline);
  return broken(first)?.code === 'Interrupted' ? prove(judged, baseline) : first;
}

/** Returns the reason why a proof is worse than the baseline; null when it is not. */
export function broken({ verdict }: Proof): Reason | null {
  return verdict.reasons.find(({ code }) => !unfinished.has(code)) ?? null;
}

/**
 * Reports whether a check holds: it is proved, and nothing that failed at the baseline still fails. `compare` requires only one
 * repaired test of a check that has to fail first; "Succeeded" promises the whole check. An exit status other than 0 does not count
 * where all that fails is flaky. With `NoRegression` what failed may fail.
 */
export function holds({ judged, verdict, run }: Proof): boolean {
  const flaky = new Set(verdict.flaky);
  const left = judged.judgement.expect === 'NoRegression' ? [] : verdict.stillFailing.filter((id) => !flaky.has(id));
  const explained = verdict.stillFailing.length > 0 || flaky.has(wholeRun);
  return verdict.proved && left.length === 0 && (run.end.exitCode === 0 || explained);
}

/** Tests of all checks that failed at the baseline and pass now, as `check/test`. */
export function passing(proofs: readonly Proof[]): ReadonlySet<string> {
  return new Set(proofs.flatMap(({ judged, verdict }) => verdict.newlyPassing.map((id) => `${judged.check.name}/${id}`)));
}

/** Reports whether `a` holds all of `b` and more. */
export function exceeds(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size > b.size && [...b].every((one) => a.has(one));
}

/** Most ids of tests that a note names: it is bounded, and the log has the output anyway. */
const maxNamed = 200;

/** The ids of tests as notes have them. */
export function namedIds(ids: readonly string[]): readonly string[] {
  return ids.slice(0, maxNamed).map((id) => id.slice(0, 256));
}

/** Lists what still fails, in words, for messages. */
export function stillFailing(proofs: readonly Proof[]): readonly string[] {
  return proofs.flatMap(({ verdict }) => verdict.stillFailing);
}

/** A check, and what it said at snapshot 0. */
export interface JudgedCheck {
  readonly check: Check;
  readonly baseline: readonly Ran[];
  readonly judgement: BaselineJudgement;
  /** Format in which its results are read from now on. */
  readonly format: ResultFormat;
  /** It may give another result at each run: one run proves nothing. */
  readonly varies: boolean;
}

/** Facts known once the checks ran at snapshot 0. */
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
  /** There is nothing to do, and the task counts this as a success. */
  readonly alreadyTrue: boolean;
}

/** Names of what gives another result at each run: random numbers, clocks, threads. */
const sources =
  /\brandom|\brand(?:int|bytes|Bytes|range)\b|\$\{?RANDOM|\bshuf(?:fle)?\b|\buuid|\bsecrets\b|\btime\.(?:time|monotonic|perf_counter|sleep)|\bdatetime\.(?:now|today|utcnow)|\bDate\.now|\bnew Date\(\)|\bperformance\.now|\bset(?:Timeout|Interval)\b|\b[Tt]hread|\basyncio\b|\bconcurrent\b|\bmultiprocessing\b|\bdate \+/;

const mostFiles = 64;

/** Most runs on one tree of a check that may vary, and when no further one is begun, ms. */
const mostRuns = 8;

const repeatedMs = 4000;

/**
 * Reports whether a check, or a program of the workspace, names a source of varying results. Files that the check names, or its
 * output, are read first.
 */
export async function mayVary(
  { command }: Pick<Check, 'command'>,
  { output }: Pick<Ran, 'output'>,
  tree: readonly string[],
  read: (path: string) => Promise<Buffer | null>,
): Promise<boolean> {
  const words = `${(command ?? []).join(' ')}\n${output}`;
  if (sources.test((command ?? []).join(' '))) return true;
  const isNamed = (path: string): boolean => words.includes(path.replace(/^.*\//, '').replace(/\.\w+$/, ''));
  const programs = tree.filter((path) => domainOf(path) !== null && !isForeign(path));
  for (const path of programs.toSorted((a, b) => Number(isNamed(b)) - Number(isNamed(a))).slice(0, mostFiles))
    if (sources.test((await read(path))?.toString('utf8') ?? '')) return true;
  return false;
}

/** Reports whether runs of a check on one tree gave different results. */
export function differ(runs: readonly Ran[]): boolean {
  const said = ({ end, results }: Ran): string =>
    JSON.stringify([end.exitCode, ...results.tests.map(({ id, outcome }) => `${outcome} ${id}`).sort()]);
  return new Set(runs.map(said)).size > 1;
}

/** Runs a check again on the tree as it is, some times or until some seconds have gone by with it. */
export async function runAgain(
  { check, format }: Pick<JudgedCheck, 'check' | 'format'>,
  runner: CheckRunner,
  first: readonly Ran[],
  most = mostRuns,
): Promise<Ran[]> {
  const runs = [...first];
  const took = (): number => runs.reduce((sum, { millis }) => sum + millis, 0);
  while (runs.length < most && took() < repeatedMs) runs.push(await runCheck(check, format, runner));
  return runs;
}

const cure = 'fix the seed, the clock or the order that the test depends on, so that it gives the same result each time';

function passes({ end, results }: Ran, id: string): boolean {
  if (id === wholeRun) return end.exitCode === 0;
  return results.tests.some((test) => test.id === id && test.outcome === 'Passed');
}

/**
 * Repeats the check by which a result was judged: one that may vary has to hold each time, and one that does not hold is rejected
 * only when it does not hold again.
 *
 * @param putBack restores the tree, so that no run sees what the one before it left behind
 * @returns null when all runs agree, else the proof of a run in which it does not hold
 */
export async function contradiction(proof: Proof, baseline: Baseline, putBack: () => Promise<unknown>): Promise<Proof | null> {
  const { judged, run } = proof;
  if (!isCommandCheck(judged.check) || run.end.interrupted !== undefined || run.end.timedOut || run.millis > repeatedMs) return null;
  const held = holds(proof);
  if (held && !judged.varies) return null;
  const most = held ? mostRuns : 2;
  for (let runs = 1, took = run.millis; runs < most && took < repeatedMs; runs += 1) {
    await putBack();
    const again = await prove(judged, baseline);
    if (again.run.end.interrupted !== undefined) return null;
    if (holds(again) !== held) return held ? again : proof;
    took += again.run.millis;
  }
  return null;
}

/**
 * Returns the failure that refuses a result on which a check held in one run and failed in another. When the check also gives two
 * results on the tree of snapshot 0, where nothing was changed, the check proves nothing; else the change is to blame.
 *
 * @param atStart runs of the check on the tree of snapshot 0, the ones of the baseline among them
 */
export function flakyCheck(fell: Proof, atStart: readonly Ran[]): AttemptFailure {
  const { check, judgement } = fell.judged;
  const gone = judgement.failing.filter((id) => atStart.some((run) => passes(run, id)));
  const ids = fell.run.results.tests.filter(({ id, outcome }) => id !== wholeRun && (outcome === 'Failed' || outcome === 'Errored'));
  const some = ids.slice(0, 3).map(({ id }) => id.slice(0, 120));
  const which = some.length === 0 ? '' : ` (${some.join(', ')} failed)`;
  if (gone.length > 0) {
    const passed = atStart.filter((run) => gone.some((id) => passes(run, id))).length;
    const seen = `check ${check.name} gives another result each time it runs on the same files: at snapshot 0, where nothing was changed, it passed in ${passed} of ${atStart.length} runs`;
    return new AttemptFailure('InvalidInput', 'FlakyCheck', `${seen}. Passing proves no change then; ${cure}`);
  }
  const seen = `in a fresh container, check ${check.name} passed in one run and failed in the next on the same files${which}`;
  const blame = `it failed in all ${atStart.length} runs at snapshot 0, so that the change passes only at times`;
  return new AttemptFailure('CheckFailed', 'FlakyCheck', `${seen}; ${blame}: ${cure}`);
}
