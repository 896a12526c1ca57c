// hack, test: stage of the test run, with its time budget. May import any package.
import { spawn } from 'node:child_process';

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
