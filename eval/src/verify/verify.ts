/** Verifies tasks: the oracle must pass, the no-op and the decoys must not, and a repair must need all of its edits. */
import { changed, PackError, type Pack, type PackManifest, type PackTask, type Tree } from '../format/index.ts';
import {
  boundFaults,
  decoyFaults,
  noOpFaults,
  oracleFaults,
  startFaults,
  judge,
  noChange,
  type JudgeOptions,
  type Verdict,
  type CheckVerdict,
} from './judge.ts';
import { missingPrograms } from './command.ts';
import { createHash } from 'node:crypto';

/** Observations of a task; it is refused when there is a reason. */
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

async function partialFaults(task: PackTask, options: JudgeOptions): Promise<string[]> {
  const faults: string[] = [];
  for (const [at, change] of task.partial.entries()) {
    const { visible, hidden } = await judge(task, change, options);
    if (visible.passed && hidden.passed) faults.push(`its edit ${at + 1} is not needed; remove it or test for it`);
  }
  return faults;
}

async function allDecoyFaults(task: PackTask, options: JudgeOptions): Promise<string[]> {
  const faults: string[] = [];
  for (const [at, decoy] of task.decoys.entries()) faults.push(...decoyFaults(at, decoy.why, await judge(task, decoy, options)));
  return faults;
}

function sorted(tree: Tree): [string, string][] {
  return Object.entries(tree).sort(([one], [other]) => (one < other ? -1 : 1));
}

/** Tasks of a program often have the same solution and checks, which are judged once. */
async function judgeOracle(task: PackTask, options: JudgeOptions, known: Map<string, Promise<Verdict>>): Promise<Verdict> {
  const { files, setup, oracle, visible, hidden } = task;
  const whole = setup.length === 0 && oracle.script === undefined;
  const key = JSON.stringify([whole ? sorted(changed(files, oracle.files)) : task.id, visible, hidden]);
  const verdict = known.get(key) ?? judge(task, oracle, options);
  known.set(key, verdict);
  return await verdict;
}

/** Runs the no-op, the oracle, half repairs and decoys of one task. */
export async function verifyTask(
  task: PackTask,
  bounds: PackManifest['bounds'],
  options: JudgeOptions,
  oracles: Map<string, Promise<Verdict>> = new Map(),
): Promise<TaskReport> {
  const begun = performance.now();
  const missing = await missingPrograms(task);
  if (missing.length > 0) throw new PackError(`task ${task.id} needs ${missing.join(', ')}; install it, or leave the task out`);
  const noOp = await judge(task, noChange, options);
  const oracle = await judgeOracle(task, options, oracles);
  const refusals = [
    ...oracleFaults(oracle),
    ...noOpFaults(task, noOp),
    ...startFaults(task, noOp),
    ...boundFaults({ noOp, oracle }, bounds),
    ...(await partialFaults(task, options)),
    ...(await allDecoyFaults(task, options)),
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

function rank(id: string): string {
  return createHash('sha256').update(`sample ${id}`).digest('hex');
}

/** Returns the same tasks every time: each language and kind first, then by a draw from their ids. */
export function fixedSample(tasks: readonly PackTask[], size: number): PackTask[] {
  const ordered = [...tasks].sort((one, other) => rank(one.id).localeCompare(rank(other.id)));
  const groups = Map.groupBy(ordered, ({ languages, kind }) => `${languages.join('+')} ${kind}`);
  const first = [...groups.values()].flatMap(([task]) => (task === undefined ? [] : [task]));
  const rest = ordered.filter((task) => !first.includes(task));
  return [...first, ...rest].slice(0, size);
}

function cell({ passed, reason, counts }: CheckVerdict): string {
  const numbers = counts === undefined ? '' : ` ${counts.tests - counts.failed}/${counts.tests}`;
  return `${passed ? 'pass' : reason === 'Exit' ? 'fail' : reason}${numbers}`;
}

/** Formats one line per task: no-op and oracle by both checks, and the reasons for a refusal. */
export function taskLine({ task, noOp, oracle, seconds, refusals }: TaskReport): string {
  const cells = [noOp.visible, noOp.hidden, oracle.visible, oracle.hidden].map((verdict) => cell(verdict).padEnd(10));
  const state = refusals.length === 0 ? 'ok     ' : 'REFUSED';
  const line = [state, task.id.padEnd(52), task.kind.padEnd(10), ...cells, `${seconds.toFixed(2)} s`].join('  ');
  return [line, ...refusals.map((refusal) => `         ${refusal}`)].join('\n');
}

export const taskHeader = [
  'state  ',
  'task'.padEnd(52),
  'kind'.padEnd(10),
  'no-op vis.',
  'no-op hid.',
  'oracle v. ',
  'oracle h. ',
  'time',
].join('  ');

/** Numbers of tasks by language, kind and half. */
export function countTable(tasks: readonly PackTask[]): string {
  const groups = Map.groupBy(tasks, ({ languages, kind, half }) =>
    [languages.join('+').padEnd(12), kind.padEnd(11), half.padEnd(8)].join(' '),
  );
  return [...groups]
    .map(([group, members]) => `${group} ${String(members.length).padStart(4)}`)
    .sort()
    .join('\n');
}
