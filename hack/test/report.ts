// hack, test: report of failed and flaky tests of the stages. May import any package.
import { readFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';

/** More tests than this that pass only at their second try fail the run: then it is not chance any more. */
export const maxFlakes = 3;

/** Failures shown at most: the rest is in the stage's output, and the stage table must stay visible. */
const maxShown = 30;

/** A test, a hook, a file or a rejected promise that failed a stage. */
export interface Failure {
  /** File and full name. */
  readonly name: string;
  /** First lines of its error, of each try. */
  readonly lines: readonly string[];
}

/** A stage's report about its tests in the file named by AGENTFLEET_STAGE_REPORT. */
export interface StageReport {
  /** Tests that failed and then passed, each with the first line of its error. */
  readonly flaky: readonly string[];
  readonly failed: readonly Failure[];
}

interface ReportedStage {
  readonly name: string;
  readonly passed: boolean;
  readonly report: StageReport;
}

/** Returns the report at `path`; an empty one where the stage wrote none. */
export async function readReport(path: string): Promise<StageReport> {
  const text = await readFile(path, 'utf8').catch(() => '{"flaky":[],"failed":[]}');
  return JSON.parse(text) as StageReport;
}

/** Returns the lines that end a run: flaky tests, every failure with its error; and whether the flaky ones fail the run. */
export function describeEnd(stages: readonly ReportedStage[]): { readonly lines: readonly string[]; readonly tooMany: boolean } {
  const flaky = stages.flatMap(({ report }) => report.flaky);
  const failures = stages.flatMap(failuresOf);
  const tooMany = flaky.length > maxFlakes;
  const hidden = failures.length - maxShown;
  return {
    lines: [
      ...flaky.map((name) => `FLAKY, passed at the second try: ${name}`),
      ...(tooMany ? [`${flaky.length} flaky tests are more than the ${maxFlakes} that a run may have`] : []),
      ...failures.slice(0, maxShown).flatMap(({ name, lines }) => [`FAILED ${name}`, ...lines.map((line) => `    ${line}`)]),
      ...(hidden > 0 ? [`and ${hidden} more, in test/.output/*report.json`] : []),
    ],
    tooMany,
  };
}

/** A stage that failed without a failing test is named itself. */
function failuresOf({ name, passed, report }: ReportedStage): readonly Failure[] {
  const failed = report.failed.map((failure) => ({ ...failure, name: `${name}: ${failure.name}` }));
  if (passed || failed.length > 0) return failed;
  return [{ name: `${name}: no test of it failed`, lines: [`its command did; its output begins at "── ${name} ──"`] }];
}

/** One step of the test run: a command with a budget. */
export interface Stage {
  readonly name: string;
  readonly argv: readonly [string, ...string[]];
  readonly budgetMinutes: number;
  readonly env?: Readonly<Record<string, string>>;
}

export interface StageOutcome {
  readonly name: string;
  readonly passed: boolean;
  readonly seconds: number;
  readonly budgetMinutes: number;
  /** Set when the stage was stopped at three times its budget. */
  readonly hung: boolean;
}

/** A stage counts as hung at this many times its budget. */
const hungFactor = 3;

/**
 * Runs a stage in a new process group, with its output shown as it arrives, and kills the group when the stage takes
 * {@link hungFactor} times its budget.
 */
export function runStage(stage: Stage, cwd: string, unitMs = 60_000): Promise<StageOutcome> {
  const started = performance.now();
  const [command, ...args] = stage.argv;
  const child = spawn(command, args, {
    cwd,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
    env: { ...process.env, ...stage.env },
  });
  let hung = false;
  const stop = (): void => {
    hung = true;
    console.error(`stage ${stage.name}: stopped as hung after ${hungFactor} × ${stage.budgetMinutes} min`);
    killGroup(child.pid);
  };
  const timer = setTimeout(stop, hungFactor * stage.budgetMinutes * unitMs);
  const forward = (): void => killGroup(child.pid);
  process.once('SIGINT', forward).once('SIGTERM', forward);
  return new Promise((resolve) => {
    const finish = (passed: boolean): void => {
      clearTimeout(timer);
      process.off('SIGINT', forward).off('SIGTERM', forward);
      resolve({
        name: stage.name,
        passed: passed && !hung,
        seconds: (performance.now() - started) / 1000,
        budgetMinutes: stage.budgetMinutes,
        hung,
      });
    };
    child.on('error', (error) => {
      console.error(`stage ${stage.name}: ${error.message}`);
      finish(false);
    });
    child.on('exit', (code) => finish(code === 0));
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // the group is already gone
  }
}
