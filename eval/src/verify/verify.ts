/** Verifies tasks: the oracle must pass, the no-op must not, and a repair must need all of its edits. */
import type { Pack, PackManifest, PackTask, Range } from '../format/index.ts';
import { PackError } from '../format/index.ts';
import { judge, type CheckVerdict, type JudgeOptions, type Verdict } from './judge.ts';

/** What was seen of a task; it is refused when a reason is there. */
export interface TaskReport {
  readonly task: PackTask;
  readonly noOp: Verdict;
  readonly oracle: Verdict;
  readonly seconds: number;
  readonly refusals: readonly string[];
}

export interface VerifyOptions extends JudgeOptions {
  readonly parallel: number;
  /** Called after each task. */
  readonly onReport?: (report: TaskReport) => void;
}

const shownLines = 12;

function told(verdict: CheckVerdict): string {
  const end = verdict.output.trimEnd().split('\n').slice(-shownLines).join('\n');
  return `${verdict.reason === 'Exit' ? `status ${String(verdict.status)}` : verdict.reason}\n${end}`;
}

function oracleFaults(verdict: Verdict): string[] {
  return (['visible', 'hidden'] as const)
    .filter((check) => !verdict[check].passed)
    .map((check) => `its oracle does not pass the ${check} check: ${told(verdict[check])}`);
}

/** A no-op that runs out of time or memory fails too, but says nothing about the bug: it is refused. */
function noOpFaults(verdict: Verdict): string[] {
  return (['visible', 'hidden'] as const).flatMap((check) => {
    const { passed, reason } = verdict[check];
    if (passed) return [`the no-op passes its ${check} check; add a test that the bug fails`];
    return reason === 'Exit' ? [] : [`the no-op ends its ${check} check with ${reason}; choose a bug that lets the tests end`];
  });
}

function outside(what: string, value: number | undefined, range: Range | undefined): string[] {
  if (range === undefined) return [];
  if (value === undefined) return [`the output tells no number of ${what}; use a runner that does, or drop the bound`];
  return value < range[0] || value > range[1] ? [`${value} ${what}, not ${range[0]} to ${range[1]}; change its tests`] : [];
}

function boundFaults({ noOp, oracle }: { noOp: Verdict; oracle: Verdict }, bounds: PackManifest['bounds']): string[] {
  return [
    ...outside('visible tests', oracle.visible.counts?.tests, bounds?.visibleTests),
    ...outside('visible tests that fail', noOp.visible.counts?.failed, bounds?.visibleFailing),
    ...outside('hidden tests', oracle.hidden.counts?.tests, bounds?.hiddenTests),
  ];
}

async function partialFaults(task: PackTask, options: JudgeOptions): Promise<string[]> {
  const faults: string[] = [];
  for (const [at, files] of task.partial.entries()) {
    const { visible, hidden } = await judge(task, files, options);
    if (visible.passed && hidden.passed) faults.push(`its edit ${at + 1} is not needed; remove it or test for it`);
  }
  return faults;
}

/** Tasks of a program often have the same solution and checks, which are judged once. */
async function judgeOracle(task: PackTask, options: JudgeOptions, known: Map<string, Promise<Verdict>>): Promise<Verdict> {
  const key = JSON.stringify([task.solution, task.visible, task.hidden]);
  const verdict = known.get(key) ?? judge(task, { ...task.visible.files, ...task.solution }, options);
  known.set(key, verdict);
  return await verdict;
}

/** Runs the no-op, the oracle and half repairs of one task. */
export async function verifyTask(
  task: PackTask,
  bounds: PackManifest['bounds'],
  options: JudgeOptions,
  oracles: Map<string, Promise<Verdict>> = new Map(),
): Promise<TaskReport> {
  const begun = performance.now();
  const noOp = await judge(task, task.files, options);
  const oracle = await judgeOracle(task, options, oracles);
  const refusals = [
    ...oracleFaults(oracle),
    ...noOpFaults(noOp),
    ...boundFaults({ noOp, oracle }, bounds),
    ...(await partialFaults(task, options)),
  ];
  return { task, noOp, oracle, refusals, seconds: (performance.now() - begun) / 1000 };
}

/** Verifies tasks of a pack, some at a time; reports in the order of the tasks. */
export async function verifyTasks(tasks: readonly PackTask[], { bounds }: PackManifest, options: VerifyOptions): Promise<TaskReport[]> {
  const reports: TaskReport[] = [];
  const oracles = new Map<string, Promise<Verdict>>();
  const queue = tasks.entries();
  const lane = async (): Promise<void> => {
    for (const [at, task] of queue) {
      options.signal.throwIfAborted();
      const report = await verifyTask(task, bounds, options, oracles);
      reports[at] = report;
      options.onReport?.(report);
    }
  };
  await Promise.all(Array.from({ length: options.parallel }, lane));
  return reports;
}

/** @throws PackError naming each task that was refused, and why */
export async function requireSound({ manifest, tasks }: Pack, options: VerifyOptions): Promise<TaskReport[]> {
  const reports = await verifyTasks(tasks, manifest, options);
  const refused = reports.filter(({ refusals }) => refusals.length > 0);
  if (refused.length > 0) throw new PackError(refused.map(({ task, refusals }) => `task ${task.id}: ${refusals.join('; ')}`).join('\n'));
  return reports;
}
