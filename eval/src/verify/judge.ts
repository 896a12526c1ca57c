/** Judges a state of a task: writes it to a separate folder, runs the visible check, then the hidden one. */
import { parseResults } from '@agentfleet/agent/checks';
import { type PackCheck, scriptSeconds, type Change, type Changes, type PackTask, type PackManifest, type Range } from '../format/index.ts';
import { type Ending, runCommand } from './command.ts';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Numbers of tests run and failed, where a runner's output has them. */
export interface Counts {
  readonly tests: number;
  readonly failed: number;
}

/** Counts of unittest or node:test; undefined for any other output. */
export function readCounts(output: string): Counts | undefined {
  const ran = /^Ran (\d+) tests? in /m.exec(output)?.[1];
  if (ran !== undefined) {
    const faults = [...(/^FAILED \((.*)\)$/m.exec(output)?.[1] ?? '').matchAll(/(?:failures|errors)=(\d+)/g)];
    return { tests: Number(ran), failed: faults.reduce((sum, [, count]) => sum + Number(count), 0) };
  }
  const said = (word: string): string | undefined => new RegExp(`^[#ℹ] ${word} (\\d+)$`, 'm').exec(output)?.[1];
  const tests = said('tests');
  return tests === undefined ? undefined : { tests: Number(tests), failed: Number(said('fail') ?? 0) + Number(said('cancelled') ?? 0) };
}

/** Returns those of the tests that did not pass, by their runner's output. */
function missedTests(ids: readonly string[], output: string, exitCode: number | null): string[] {
  const { tests } = parseResults('Auto', { exitCode, stdout: output, stderr: '' });
  const passed = new Set(tests.filter(({ outcome }) => outcome === 'Passed').map(({ id }) => id));
  return ids.filter((id) => !passed.has(id));
}

/** Reports whether a check passed: by its exit status, or where it names tests, by all of these. */
export function checkPassed({ tests }: Pick<PackCheck, 'tests'>, { passed, reason, output, status }: Ending): boolean {
  if (tests === undefined) return passed;
  return reason === 'Exit' && missedTests([...tests.failing, ...tests.passing], output, status).length === 0;
}

/** Verdict of one check. */
export interface CheckVerdict extends Ending {
  readonly counts: Counts | undefined;
}

export interface Verdict {
  /** End of a failed script before the checks: a set-up, or that of the change. */
  readonly broken?: { readonly script: 'set-up' | 'change' } & Ending;
  readonly visible: CheckVerdict;
  readonly hidden: CheckVerdict;
}

export interface JudgeOptions {
  /** Of all processes of a check together. */
  readonly memoryMiB: number;
  readonly signal: AbortSignal;
}

/** Writes files below a folder, and removes those that are null. */
export async function layOut(folder: string, files: Changes): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    if (content === null) {
      await rm(file, { force: true });
      continue;
    }
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

/** A folder of the machine with the parts of a sandbox: the workspace, and a separate home. */
interface Place {
  readonly workspace: string;
  readonly home: string;
}

async function runCheck({ workspace, home }: Place, check: PackCheck, { memoryMiB, signal }: JudgeOptions): Promise<CheckVerdict> {
  await layOut(workspace, check.files);
  const ending = await runCommand(check.command, workspace, { timeoutSeconds: check.timeoutSeconds, memoryMiB }, signal, home);
  return { ...ending, passed: checkPassed(check, ending), counts: readCounts(ending.output) };
}

/** Prepares the workspace and makes the change; returns the failed script, if any. */
async function make(
  { workspace, home }: Place,
  task: Judged,
  change: Change,
  { memoryMiB, signal }: JudgeOptions,
): Promise<Verdict['broken']> {
  const limits = { timeoutSeconds: scriptSeconds, memoryMiB };
  const run = (script: string): Promise<Ending> => runCommand(['sh', '-euc', script], workspace, limits, signal, home);
  await layOut(workspace, task.files);
  for (const script of task.setup) {
    const ending = await run(script);
    if (!ending.passed) return { script: 'set-up', ...ending };
  }
  await layOut(workspace, change.files);
  if (change.script === undefined) return undefined;
  const ending = await run(change.script);
  return ending.passed ? undefined : { script: 'change', ...ending };
}

/** The parts of a task that judging needs. */
export type Judged = Pick<PackTask, 'files' | 'setup' | 'visible' | 'hidden'>;

/** The empty change. */
export const noChange: Change = { files: {} };

/**
 * Judges the result of a change of the workspace, by both checks of a task. Files of the checks are laid over it, so
 * that a changed test does not count; the hidden ones are added after the visible check has ended.
 */
export async function judge(task: Judged, change: Change, options: JudgeOptions): Promise<Verdict> {
  const folder = await mkdtemp(join(tmpdir(), 'agentfleet-pack-'));
  try {
    const place = { workspace: join(folder, 'workspace'), home: join(folder, 'home') };
    for (const part of Object.values(place)) await mkdir(part);
    const broken = await make(place, task, change, options);
    const visible = await runCheck(place, task.visible, options);
    const hidden = await runCheck(place, task.hidden, options);
    return { visible, hidden, ...(broken === undefined ? {} : { broken }) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const shownLines = 12;

function reported(verdict: Omit<CheckVerdict, 'counts'>): string {
  const end = verdict.output.trimEnd().split('\n').slice(-shownLines).join('\n');
  return `${verdict.reason === 'Exit' ? `status ${String(verdict.status)}` : verdict.reason}\n${end}`;
}

/** The oracle must pass both checks. */
export function oracleFaults(verdict: Verdict): string[] {
  const { broken } = verdict;
  if (broken !== undefined) return [`its ${broken.script === 'set-up' ? 'set-up' : 'oracle script'} fails: ${reported(broken)}`];
  return (['visible', 'hidden'] as const)
    .filter((check) => !verdict[check].passed)
    .map((check) => `its oracle does not pass the ${check} check: ${reported(verdict[check])}`);
}

/** A no-op that runs out of time or memory fails too, but proves nothing about the bug: it is refused. */
export function noOpFaults({ visible: { start } }: Pick<PackTask, 'visible'>, verdict: Verdict): string[] {
  return (['visible', 'hidden'] as const).flatMap((check) => {
    const { passed, reason } = verdict[check];
    const mayPass = check === 'visible' && start === 'passes';
    if (passed) return mayPass ? [] : [`the no-op passes its ${check} check; add a test that the bug fails`];
    if (mayPass) return [`the no-op does not pass its visible check, which says "start: passes": ${reported(verdict[check])}`];
    return reason === 'Exit' ? [] : [`the no-op ends its ${check} check with ${reason}; choose a bug that lets the tests end`];
  });
}

/** The lists of an instance must hold before any change: tests to pass fail, tests to stay passing pass. */
export function startFaults({ hidden: { tests } }: Pick<PackTask, 'hidden'>, { hidden }: Verdict): string[] {
  if (tests === undefined) return [];
  const missed = new Set(missedTests([...tests.failing, ...tests.passing], hidden.output, hidden.status));
  const passes = tests.failing.filter((id) => !missed.has(id)).map((id) => `${id} of FAIL_TO_PASS passes at the start; take it out`);
  return [...passes, ...tests.passing.filter((id) => missed.has(id)).map((id) => `${id} of PASS_TO_PASS fails at the start; take it out`)];
}

/** The hidden check must distinguish a wrong solution from a right one; one that breaks by itself proves nothing. */
export function decoyFaults(at: number, why: string, { broken, hidden }: Verdict): string[] {
  const name = `decoy ${at + 1} (${why})`;
  if (broken !== undefined) return [`the script of its ${name} fails: ${reported(broken)}`];
  return hidden.passed ? [`its ${name} passes the hidden check; test for what is wrong with it`] : [];
}

function outside(what: string, value: number | undefined, range: Range | undefined): string[] {
  if (range === undefined) return [];
  if (value === undefined) return [`the output has no number of ${what}; use a runner that prints it, or drop the bound`];
  return value < range[0] || value > range[1] ? [`${value} ${what}, not ${range[0]} to ${range[1]}; change its tests`] : [];
}

/** Numbers of tests that the pack promises. */
export function boundFaults({ noOp, oracle }: { noOp: Verdict; oracle: Verdict }, bounds: PackManifest['bounds']): string[] {
  return [
    ...outside('visible tests', oracle.visible.counts?.tests, bounds?.visibleTests),
    ...outside('visible tests that fail', noOp.visible.counts?.failed, bounds?.visibleFailing),
    ...outside('hidden tests', oracle.hidden.counts?.tests, bounds?.hiddenTests),
  ];
}
